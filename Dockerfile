# The book, built and served, and a desk to work at. From the root of the book:
#   docker build -t transformer-book .
#   docker run --rm -p 8000:8000 transformer-book
# serves the pages at http://localhost:8000, and
#   docker run --rm -p 8888:8888 -v transformer-desk:/opt/book/lab transformer-book lab
# opens JupyterLab at the address that it prints. What you write stays in the volume transformer-desk.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
# hadolint ignore=DL3008
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/book

# First what changes seldom: the locked packages.
COPY Makefile requirements.lock requirements-torch.lock ./
RUN make .venv/.locked
COPY . .
RUN make book model

RUN useradd --create-home --uid 1000 reader && mkdir -p lab && chown reader lab
USER 1000
EXPOSE 8000 8888
ENTRYPOINT ["hub/book.sh"]
CMD ["serve"]
