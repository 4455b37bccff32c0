"""`wavescope ceilings` over a driver and a run-time compiler of CUDA that are played."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = """
#include <string.h>
int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int* v) { *v = 13000; return 0; }
int cuDeviceGetCount(int* n) { *n = 1; return 0; }
int cuDeviceGet(int* d, int i) { *d = i; return 0; }
int cuDeviceGetName(char* t, int n, int d) { strcpy(t, "Played GPU"); return 0; }
int cuDeviceGetAttribute(int* v, int a, int d) { *v = a == 75 ? 9 : 0; return 0; }
int cuDevicePrimaryCtxRetain(void** c, int d) { *c = (void*)1; return 0; }
int cuCtxSetCurrent(void* c) { return 0; }
int cuEventCreate(void** e, unsigned f) { *e = (void*)2; return 0; }
int cuEventRecord(void* e, void* s) { return 0; }
int cuEventSynchronize(void* e) { return 0; }
int cuEventElapsedTime(float* ms, void* a, void* b) { *ms = 4; return 0; }
int cuMemAlloc_v2(void** p, size_t n) { *p = (void*)4096; return 0; }
int cuMemFree_v2(void* p) { return 0; }
int cuMemsetD8_v2(void* p, unsigned char v, size_t n) { return 0; }
int cuModuleLoadData(void** m, const char* code) { *m = (void*)8; return strcmp(code, "PTX 13.0 compute_90"); }
int cuModuleUnload(void* m) { return 0; }
int cuModuleGetFunction(void** f, void* m, const char* n) {
  *f = (void*)16;
  return !strcmp(n, "read_shared") || strstr(n, "32x32") != 0;
}
int cuLaunchKernel(void* f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                   unsigned shared, void* stream, void** arguments, void** more) { return 0; }
"""
COMPILER = """
#include <stdio.h>
#include <string.h>
static char code[99];
int nvrtcCreateProgram(void** p, const char* s, const char* n, int h, void* a, void* b) { *p = code; return 0; }
int nvrtcCompileProgram(void* p, int n, const char** o) {
  snprintf(code, sizeof code, "PTX " VERSION " %s", strchr(o[0], '=') + 1);
  return 0;
}
int nvrtcGetPTXSize(void* p, size_t* n) { *n = strlen(code) + 1; return 0; }
int nvrtcGetPTX(void* p, char* t) { strcpy(t, code); return 0; }
int nvrtcDestroyProgram(void** p) { return 0; }
"""


def built(source: str, library: Path, *options: str) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library.parent.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-o", str(library), *options, "-"]
    subprocess.run(command, input=source, text=True, check=True)


def test_the_compiler_that_fits_the_driver_is_taken_of_those_in_packages(tmp_path: Path) -> None:
    built(DRIVER, tmp_path / "driver/libcuda.so.1")
    for version in ("13.0", "13.4"):
        packages = tmp_path / version / "lib/python3.12/site-packages"
        built(COMPILER, packages / "nvidia/cu13/lib/libnvrtc.so.13", f'-DVERSION="{version}"')
        (packages / f"nvidia_cuda_nvrtc-{version}.88.dist-info").mkdir()
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(tmp_path / "driver"),
        "VIRTUAL_ENV": str(tmp_path / "13.4"),
        "CONDA_PREFIX": str(tmp_path / "13.0"),
    }
    command = [sys.executable, "-m", "wavescope", "ceilings", "--only", "HBM,LDS,MFMA-F8"]
    command += ["--memory", "128M", "--samples", "2", "--json"]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["facts"]["gpu"] == "Played GPU"
    memory_bytes = 128_000_000 // (1 << 26) * (1 << 26)
    products = 16_384 * 256 // 32 * 128
    assert {row[0]: row[1] for row in result["tables"][0]["rows"]} == {
        "HBM": round(memory_bytes / 4e6, 1),
        "MFMA-F8": round(products * 2 * 16 * 8 * 32 / 4e6, 1),
    }
