# The image of the coordinator, and of the command line: no framework, no runner, no PostgreSQL in it.
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS installed
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
# Not empty: any build of the locked versions.
ARG ANY_BUILD=""
RUN python3 -m venv --without-pip /opt/venv
COPY coordinator/lock-image.txt /requirements/lock.txt
RUN --mount=type=cache,target=/root/.cache/pip \
    if [ -n "${ANY_BUILD}" ]; then sed -i 's/^\([^ ]*==[^ ]*\).*/\1/; /^  /d' /requirements/lock.txt; fi \
    && python3 -m pip --python /opt/venv/bin/python install --no-deps -r /requirements/lock.txt \
    && python3 -m pip --python /opt/venv/bin/python check
COPY docker/strip.py /requirements/
RUN python3 /requirements/strip.py /opt/venv

FROM ${PYTHON} AS project
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
COPY pyproject.toml /project/
COPY portolan /project/portolan
COPY protocol /project/protocol
COPY coordinator /project/coordinator
COPY migrations /project/migrations
RUN sed -i '/^readme = /d' /project/pyproject.toml \
    && python3 -m pip install --no-cache-dir --no-deps --target /opt/portolan /project \
    && rm -r /opt/portolan/bin

# What verifies the signatures of bundles. Of Debian's release the newest: an exact version leaves the mirrors with the
# next security fix. Its libraries are in every Debian.
FROM ${PYTHON} AS signatures
RUN apt-get update && apt-get install --yes --no-install-recommends openssh-client

FROM ${PYTHON}
ARG PORTOLAN_VERSION=""
RUN useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin portolan
COPY --from=signatures /usr/bin/ssh-keygen /usr/bin/
COPY --from=installed /opt/venv /opt/venv
COPY --from=project /opt/portolan /opt/portolan
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/opt/portolan \
    PYTHONSAFEPATH=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    TMPDIR=/tmp
WORKDIR /tmp
USER portolan
EXPOSE 8642 8643
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-ISc", "import socket; s = socket.create_connection(('127.0.0.1', 8642), 4); s.sendall(b'GET /healthz HTTP/1.0\\r\\n\\r\\n'); assert b' 200 ' in s.recv(64)"]
ENTRYPOINT ["python", "-m", "coordinator"]
CMD ["serve", "--host", "0.0.0.0"]
LABEL org.opencontainers.image.title="Portolan coordinator" \
      org.opencontainers.image.version="${PORTOLAN_VERSION}" \
      org.portolan.role="coordinator"
