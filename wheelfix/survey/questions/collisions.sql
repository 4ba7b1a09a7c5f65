-- Which DLL names are shipped by several distributions with different contents
SELECT dll, count(DISTINCT name) AS distributions, count(DISTINCT member_sha256) AS contents,
       string_agg(DISTINCT name, ', ' ORDER BY name) AS names
FROM providers
WHERE dll LIKE '%.dll' AND member_sha256 <> ''
GROUP BY dll
HAVING distributions > 1 AND contents > 1
ORDER BY distributions DESC, dll
