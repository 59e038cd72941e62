# What a runner's image is measured against: the framework alone, as pip installs it, on the same base.
ARG PYTHON=python:3.11-slim-bookworm
FROM ${PYTHON}
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG LOCK
ARG REQUIREMENT
COPY ${LOCK} /lock.txt
# The versions alone: pip resolves nothing among hashes.
RUN sed -n 's/^\([^ ]*==[^ ]*\).*/\1/p' /lock.txt >/pins.txt
RUN --mount=type=cache,target=/root/.cache/pip python3 -m pip install ${REQUIREMENT} -c /pins.txt
