-- Which wheels load DLLs that a kind of Windows does not have: windows-n, server-core-2022, nano-server, ...
-- with: target
SELECT name, version, platform, bool_or(state = 'absent') AS certain,
       string_agg(DISTINCT edges.dll, ', ' ORDER BY edges.dll) AS dlls
FROM edges JOIN wheels USING (sha256) JOIN targets ON targets.dll = edges.dll AND targets.machine = wheels.machine
WHERE target = $1 AND state IN ('absent', 'perhaps absent')
  AND provider = 'system' AND kind = 'import' AND required AND edges.loaded AND status = 'scanned'
GROUP BY ALL
ORDER BY ALL
