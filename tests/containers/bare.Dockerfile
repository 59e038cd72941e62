# What a runner's image is measured against: the framework alone, as pip installs it, on the same base.
ARG PYTHON=python:3.11-slim-bookworm
FROM ${PYTHON}
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG CONSTRAINTS
ARG REQUIREMENT
COPY ${CONSTRAINTS} /constraints.txt
RUN --mount=type=cache,target=/root/.cache/pip python3 -m pip install ${REQUIREMENT} -c /constraints.txt
