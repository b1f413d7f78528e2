package io.jccl.cli.perf;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/** A made-up run for the tests of output formats. */
final class RunInfos {

    static final RunInfo SAMPLE = new RunInfo(
            "1.2.0",
            "0a1b",
            "17.0.1+12",
            new HostFacts("node1", "Linux 6.1", "Processor, 2 GHz", 2),
            List.of(),
            Instant.parse("2026-11-23T10:20:30Z"),
            Mode.AWAIT,
            "shm",
            new Placement(4, 4, List.of("node1", "node2"), List.of(0, 1)),
            Map.of("JCCL_ALGO", "ring"));

    private RunInfos() {}
}
