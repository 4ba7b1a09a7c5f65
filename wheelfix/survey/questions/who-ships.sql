-- Who ships a DLL, in which versions of it
-- with: dll
SELECT DISTINCT name, wheels.version, platform, path, images.version AS dll_version, company
FROM images JOIN wheels USING (sha256)
WHERE dll = $1 AND status = 'scanned'
ORDER BY ALL
