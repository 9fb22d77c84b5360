# Predictions in a container: docker build -t shardlab . && docker run --rm -v "$PWD:/work" shardlab predict --model llama3-8b ...
FROM debian:bookworm-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc g++ cmake ninja-build pkg-config dpkg-dev file \
    libjansson-dev libyaml-dev libpcre2-dev libutf8proc-dev libxxhash-dev && rm -rf /var/lib/apt/lists/*
COPY . /source
# without MPI, OpenBLAS and GSL in the image only predictions are built
RUN cmake -S /source -B /build -G Ninja -DSL_NATIVE=OFF -DSL_TESTS=OFF -DSL_CUDA=OFF \
    && cmake --build /build && cd /build && cpack -G DEB -D CPACK_COMPONENTS_ALL=shardlab

FROM debian:bookworm-slim
COPY --from=build /build/packages/shardlab_*.deb /tmp/
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/shardlab_*.deb \
    && rm -rf /var/lib/apt/lists/* /tmp/*.deb
WORKDIR /work
ENTRYPOINT ["shardlab"]
CMD ["--help"]
