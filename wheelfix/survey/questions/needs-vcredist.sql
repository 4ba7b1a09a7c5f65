-- Which wheels break on a machine without the Visual C++ runtimes, and which DLLs of these they load
SELECT name, version, platform, string_agg(DISTINCT dll, ', ' ORDER BY dll) AS dlls
FROM edges JOIN wheels USING (sha256)
WHERE provider = 'vcredist' AND kind = 'import' AND required AND edges.loaded AND status = 'scanned'
GROUP BY ALL
ORDER BY ALL
