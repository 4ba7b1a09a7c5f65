-- How many wheels are ok, risky, unsure, broken or could not be read
SELECT CASE WHEN status = 'failed' THEN 'failed' ELSE verdict END AS verdict, count(DISTINCT coalesce(nullif(sha256, ''), source)) AS wheels
FROM wheels
GROUP BY ALL
ORDER BY wheels DESC, verdict
