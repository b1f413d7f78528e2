package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Registration of ordinary host memory. Scenarios run in separate JVMs, because a fault crashes the JVM. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostRegistrationTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);

    /** Makes malloc map large buffers separately, so that they share no page with memory that the JVM has freed. */
    private static final List<String> OWN_PAGES = List.of("env", "MALLOC_MMAP_THRESHOLD_=1048576");

    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource
    void registeredMemoryIsUsedInPlace(HostRegistrations scenario) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(), folder, 2, rank -> OWN_PAGES, "host-registrations", scenario.name())) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains(HostRegistrations.RESULT);
            }
        }
    }

    /** Over verbs, a registered buffer gets memory regions once; other buffers get them for each operation. */
    @Test
    void adaptersKeepTheRegionsOfRegisteredBuffers() throws Exception {
        Path log = folder.resolve("regions");
        List<String> environment = new ArrayList<>(OWN_PAGES);
        environment.add("FAKE_VERBS_LOG=" + log);
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                1,
                rank -> environment,
                "adapter-registrations",
                System.getProperty("jccl.fake.verbs"))) {
            assertThat(ranks.awaitExit(0, LIMIT)).as(ranks.allOutput()).isZero();
            assertThat(ranks.output(0))
                    .contains(HostRegistrations.RESULT)
                    .contains("was freed while it was registered")
                    .doesNotContain("has no effect");
        }
        List<String> regions = Files.readAllLines(log);
        for (int bytes : List.of(AdapterRegistrations.REGISTERED_BYTES, AdapterRegistrations.SHARED_BYTES)) {
            assertThat(regions)
                    .filteredOn(("registered bytes=" + bytes)::equals)
                    .hasSize(2);
            assertThat(regions)
                    .filteredOn(("deregistered bytes=" + bytes)::equals)
                    .hasSize(2);
        }
        assertThat(regions)
                .filteredOn(("registered bytes=" + AdapterRegistrations.OTHER_BYTES)::equals)
                .hasSizeGreaterThanOrEqualTo(2 * AdapterRegistrations.ROUNDS);
        assertThat(regions)
                .filteredOn(("registered bytes=" + AdapterRegistrations.FREED_BYTES)::equals)
                .hasSizeGreaterThanOrEqualTo(2 + 2 * AdapterRegistrations.ROUNDS);
    }
}
