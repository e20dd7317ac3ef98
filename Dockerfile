# The program in an image without compilers. Build: docker build -t attnscope . - use: docs/install.md
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /attnscope
COPY . .
RUN make dist
RUN mkdir /opt/attnscope && tar -xzf dist/attnscope-*.tar.gz -C /opt/attnscope --strip-components=1

FROM debian:12-slim
COPY --from=build /opt/attnscope /opt/attnscope
USER nobody
ENV HOME=/tmp
WORKDIR /tmp
EXPOSE 7865
STOPSIGNAL SIGINT
ENTRYPOINT ["/opt/attnscope/bin/attnscope"]
CMD ["view", "--no-open"]
