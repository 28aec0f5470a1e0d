# The control plane, or an agent, in a container: docs/install.md.
#   npm pack && docker build --tag busbar .
FROM node:26-bookworm-slim AS build
WORKDIR /build
COPY busbar-*.tgz ./
# The image has a Node that is new enough: the package's own is left out.
RUN npm install --omit=optional --no-audit --no-fund --prefix /opt/busbar ./busbar-*.tgz

FROM node:26-bookworm-slim
COPY --from=build /opt/busbar /opt/busbar
RUN ln -s /opt/busbar/node_modules/.bin/busbar /usr/local/bin/busbar \
  && install --directory --owner=node --group=node --mode=0700 /var/lib/busbar
# The user "node" of the image, by number: hosts may ask for one.
USER 1000:1000
# Everything else may be read-only: docker run --read-only --tmpfs /tmp.
VOLUME /var/lib/busbar
WORKDIR /var/lib/busbar
EXPOSE 7070 7071
# Of the server; an agent listens on nothing: docker run --no-healthcheck.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["busbar", "stats"]
ENTRYPOINT ["busbar"]
CMD ["server", "--data", "/var/lib/busbar", "--http", "0.0.0.0:7070", "--grpc", "0.0.0.0:7071", "--insecure-listen"]
