"""What people paste: error texts of any language become symptoms with codes, paths and DLL names, and their causes."""
