-- Which wheels need the Visual C++ 2013 runtime, and do not have it
SELECT name, version, platform, string_agg(DISTINCT dll, ', ' ORDER BY dll) AS dlls, count(DISTINCT path) AS images
FROM edges JOIN wheels USING (sha256)
WHERE dll IN ('msvcr120.dll', 'msvcp120.dll', 'vcomp120.dll', 'mfc120.dll', 'mfc120u.dll', 'vccorlib120.dll')
  AND provider <> 'wheel' AND required AND status = 'scanned'
GROUP BY ALL
ORDER BY ALL
