# The image of a runner: one framework for one device, and nothing of the coordinator's.
# What differs between frameworks and devices are the arguments; docker/bake.hcl has a set for each.
ARG PYTHON=python:3.11-slim-bookworm

# What is installed: a lock, without the packages that this device does not use. Of this stage only what comes out
# counts, so that other changes of the code install nothing anew.
FROM ${PYTHON} AS locked
ARG FRAMEWORK=""
ARG DEVICE=""
# Which lock: the one of FOLDER that ends in VARIANT.
ARG FOLDER=runners
ARG VARIANT=""
# Not empty: with packages that only a GPU uses, also where none is served.
ARG WITH_CUDA=""
COPY runners /src/runners
COPY docker/locked.py /src/
RUN python3 /src/locked.py "${FRAMEWORK}" "${DEVICE}" "/src/${FOLDER}/lock${VARIANT}.txt" /locked

FROM ${PYTHON} AS installed
# Which package index: none is named here, so pip's own default holds unless an argument names another.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG FOLDER=runners
ARG VARIANT=""
# Not empty: any build of the locked versions, and of what the index's builds of them need.
ARG ANY_BUILD=""
# Without a pip of its own: nothing is installed into a finished image, which its root's being read-only forbids too.
RUN python3 -m venv --without-pip /opt/venv
COPY runners/*.txt /requirements/
COPY ${FOLDER}/*.txt /requirements/own/
COPY --from=locked /locked /requirements/locked
WORKDIR /requirements/own
RUN --mount=type=cache,target=/root/.cache/pip \
    pip="python3 -m pip --python /opt/venv/bin/python" \
    && if [ -z "${ANY_BUILD}" ]; then \
        $pip install --require-hashes --no-deps -r ../locked/lock.txt; \
    elif [ -e ../locked/spared.txt ]; then \
        $pip install --no-deps -r ../locked/pins.txt && touch /opt/venv/portolan-any-build; \
    else \
        $pip install -r "requirements${VARIANT}.txt" -c ../locked/pins.txt && touch /opt/venv/portolan-any-build; \
    fi
COPY docker/strip.py /requirements/
RUN python3 /requirements/strip.py /opt/venv

# What stands in for the packages that were left out, made by a package that the image does not keep.
FROM installed AS completed
ARG FRAMEWORK=""
COPY docker/lock.txt /requirements/stubs.txt
RUN --mount=type=cache,target=/root/.cache/pip \
    python3 -m pip install --require-hashes --no-deps --target /stubs -r /requirements/stubs.txt
COPY runners/__init__.py runners/errors.py /src/runners/
COPY runners/cli/__init__.py runners/cli/locks.py /src/runners/cli/
COPY runners/isolation/__init__.py runners/isolation/installation.py /src/runners/isolation/
COPY runners/suite/__init__.py runners/suite/framework.py /src/runners/suite/
COPY runners/torch/__init__.py /src/runners/torch/
COPY runners/torch/suites/__init__.py /src/runners/torch/suites/
COPY runners/torch/stubs /src/runners/torch/stubs
COPY docker/complete.py /src/
RUN PYTHONPATH=/stubs python3 /src/complete.py "${FRAMEWORK}" /opt/venv /requirements/locked

FROM ${PYTHON} AS project
COPY protocol /opt/portolan/protocol
COPY runners /opt/portolan/runners
# By content, because what a checkout says of times is no measure of age; and the root is read-only later.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/portolan

FROM ${PYTHON} AS runner
# One user for all runners: their lock for timed sections is on a volume that they share.
RUN useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin portolan \
    && install -d -o portolan -g portolan /var/lib/portolan-timing
COPY --from=completed /opt/venv /opt/venv
COPY --from=project /opt/portolan /opt/portolan
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/opt/portolan:/opt/framework \
    PYTHONSAFEPATH=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    TMPDIR=/tmp \
    PORTOLAN_TIMING_LOCK=/var/lib/portolan-timing/lock
WORKDIR /tmp
USER portolan
EXPOSE 8790
STOPSIGNAL SIGTERM
# By socket alone: importing an HTTP client would cost a busy host more than the question does.
HEALTHCHECK --interval=10s --timeout=5s --start-period=300s --retries=6 \
    CMD ["python", "-ISc", "import socket; s = socket.create_connection(('127.0.0.1', 8790), 4); s.sendall(b'GET /healthz HTTP/1.0\\r\\n\\r\\n'); assert b' 200 ' in s.recv(64)"]
ENTRYPOINT ["python", "-m", "runners"]
CMD ["--help"]
# Last, so that a new label makes no layer anew. VERSION is checked against what is in the image.
ARG FRAMEWORK=""
ARG DEVICE=""
ARG VERSION=""
ARG PORTOLAN_VERSION=""
RUN --mount=type=bind,source=docker/check.py,target=/check.py ["python", "/check.py"]
LABEL org.opencontainers.image.title="Portolan runner" \
      org.opencontainers.image.version="${PORTOLAN_VERSION}" \
      org.portolan.role="runner" \
      org.portolan.framework="${FRAMEWORK}" \
      org.portolan.version="${VERSION}" \
      org.portolan.device="${DEVICE}"
