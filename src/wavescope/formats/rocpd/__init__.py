"""SQLite files of rocprofiler-sdk, schema 3: `reader`, which `registry` names."""
