"""SQLite files of rocmProfileData (`reader`, `writer`) and rocm-trace-lite (`rtl_reader`)."""
