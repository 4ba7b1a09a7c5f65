"""Scripts that make files of this repository from its code: pages, pictures, the benchmark table, the zipapp."""
