-- Who ships a DLL, in which versions of it
-- with: dll
SELECT DISTINCT name, wheels.version, platform, path, images.version AS dll_version, company
FROM images JOIN wheels USING (sha256)
-- delvewheel and others put a hash into the name: libpq-f81e1880.dll
WHERE $1 IN (dll, regexp_replace(dll, '-[0-9a-f]{8,64}(\.[a-z]+)$', '\1')) AND status = 'scanned'
ORDER BY ALL
