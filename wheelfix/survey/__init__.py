"""Many wheels as tables: what they ship, import and need, in Parquet files for SQL."""
