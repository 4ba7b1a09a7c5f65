"""Many wheels as tables: what they ship, import and need, in Parquet files for SQL.

``run`` goes from sources to tables, in processes or on a Dask cluster; ``wheelrows`` makes the rows of one wheel;
``tables`` has the columns, the folder of Parquet files, and SQL over them.
"""
