-- Which wheels ship an msvcp140.dll before 14.40, and whether importing them loads it
SELECT name, wheels.version, platform, path, images.version AS msvcp140, bool_or(loaded) AS loaded
FROM images JOIN wheels USING (sha256)
WHERE (dll = 'msvcp140.dll' OR regexp_matches(dll, '^msvcp140-[0-9a-f]{16,}\.dll$'))
  AND version_major = 14 AND version_minor < 40 AND status = 'scanned'
GROUP BY ALL
ORDER BY ALL
