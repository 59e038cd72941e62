# A framework of one's own in an image of its own, the documented way; its build context is tests/hazards.
FROM portolan/runner:latest
USER root
RUN pip --python /opt/venv/bin/python install --no-cache-dir "numpy==2.4.6"
COPY hazards /opt/framework/hazards
COPY hazards-0.dist-info /opt/framework/hazards-0.dist-info
USER portolan
LABEL org.portolan.framework="hazards" org.portolan.device="cpu" org.portolan.version="1.0"
