-- How many wheels have each finding
SELECT code, rule, severity, count(DISTINCT sha256) AS wheels, count(*) AS findings
FROM findings
GROUP BY ALL
ORDER BY wheels DESC, code
