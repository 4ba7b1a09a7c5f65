"""An interpreter that carries out the import of a package in a model of a Windows machine, and touches nothing else."""
