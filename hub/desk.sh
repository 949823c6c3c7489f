#!/bin/sh
# A student's server: write the desk, or what the book has changed of it, then serve it.
book=$(cd "$(dirname "$0")/.." && pwd)
desk="$HOME/transformer"
(cd "$book" && python -m tformer_book.pipeline lab "$desk") || echo "the desk is as it was" >&2
mkdir -p "$desk"
cd "$desk" || exit 1
export JUPYTER_CONFIG_PATH="$book/hub/student${JUPYTER_CONFIG_PATH:+:$JUPYTER_CONFIG_PATH}"
exec jupyterhub-singleuser "$@"
