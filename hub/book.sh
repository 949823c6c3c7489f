#!/bin/sh
# What the container of the book does: serve the pages, or open JupyterLab on a desk.
cd "$(dirname "$0")/.." || exit 1
case "${1:-serve}" in
  serve)
    exec .venv/bin/python -m http.server --directory _build/html 8000
    ;;
  lab)
    .venv/bin/python -m tformer_book.pipeline lab || exit 1
    export JUPYTER_CONFIG_PATH=hub/student
    exec .venv/bin/jupyter lab --ip=0.0.0.0 --port=8888 --no-browser \
      --ServerApp.root_dir=lab --LabApp.default_url=/lab/tree/exercises
    ;;
  *)
    echo "serve or lab, not $1" >&2
    exit 2
    ;;
esac
