-- Which wheels could not be read, and why
SELECT file, error, passing AS tried_again FROM wheels WHERE status = 'failed' ORDER BY ALL
