-- Which DLLs are missing most often
SELECT dll, count(DISTINCT sha256) AS wheels, count(*) FILTER (WHERE edges.required) AS required_by
FROM edges
WHERE provider = 'missing'
GROUP BY dll
ORDER BY wheels DESC, dll
LIMIT 50
