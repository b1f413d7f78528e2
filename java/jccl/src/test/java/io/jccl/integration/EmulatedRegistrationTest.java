package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceException;
import io.jccl.HostBuffer;
import io.jccl.Registration;
import io.jccl.UniqueId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Registered buffers in GPU memory, used between processes. GPUs and driver are emulated; their memory is real. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedRegistrationTest {

    private static final Duration LIMIT = Duration.ofSeconds(200);
    private static final String NOT_REGISTERED = "is not registered, or was freed since";

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    private ProcessRanks start(int size, String sharing, String scenario, String... arguments) {
        return ProcessRanks.start(
                UniqueId.create(),
                folder,
                size,
                rank -> List.of("env", "JCCL_EMULATED_SHARING=" + sharing),
                "registered-buffers",
                RegisteredBuffers.arguments(scenario, EmulatedGpus.library(), arguments));
    }

    /** Only ranks that use unregistered memory warn of it, each once. */
    @ParameterizedTest
    @CsvSource({"2, 'descriptors,handles'", "3, handles", "4, 'descriptors,handles'"})
    void everyCollectiveInPlaceMatchesTheResultsWithSlots(int size, String sharing) throws Exception {
        try (ProcessRanks ranks = start(size, sharing, "results")) {
            RegisteredBuffers.requireResults(ranks, size);
            for (int rank = 0; rank < size; rank++) {
                String output = ranks.output(rank);
                assertThat(output).contains("REGISTERED truetruetrue");
                boolean mixed = rank == 0 || rank == size - 1;
                assertThat(output.split(NOT_REGISTERED, -1)).hasSize(mixed ? 2 : 1);
                assertThat(output.indexOf(NOT_REGISTERED) > output.indexOf("MIXED"))
                        .isEqualTo(mixed);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"2, 'descriptors,handles'", "3, handles", "4, 'descriptors,handles'"})
    void symmetricMemoryIsUsedInPlace(int size, String sharing) throws Exception {
        try (ProcessRanks ranks = start(size, sharing, "symmetric")) {
            RegisteredBuffers.requireResults(ranks, size);
            for (int rank = 0; rank < size; rank++) {
                String output = ranks.output(rank);
                assertThat(output.split(NOT_REGISTERED, -1)).hasSize(rank == size - 1 ? 2 : 1);
                assertThat(output.substring(0, output.indexOf("ROUND 1"))).doesNotContain(NOT_REGISTERED);
            }
        }
    }

    @Test
    void memoryThatCannotBeSharedIsRefusedOnAllRanks() throws Exception {
        try (ProcessRanks ranks = start(2, "descriptors", "refused")) {
            RegisteredBuffers.requireResults(ranks, 2);
        }
    }

    @Test
    void noRankWritesToBuffersOfAnotherWhoseOperationWasAborted() throws Exception {
        try (ProcessRanks ranks = start(3, "descriptors,handles", "abort")) {
            RegisteredBuffers.requireResults(ranks, 3);
        }
    }

    /** The killed rank has mapped the others' memory, and they have mapped its memory. */
    @Test
    void ranksGoOnWithTheirBuffersWhenOneIsKilled() throws Exception {
        try (ProcessRanks ranks = start(3, "descriptors,handles", "work", "60000")) {
            ranks.awaitOutput(2, output -> output.contains(RegisteredBuffers.READY), LIMIT);
            ranks.kill(2);
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank))
                        .contains(RegisteredBuffers.FAILED)
                        .contains("PeerFailedException")
                        .contains(RegisteredBuffers.RESULT);
            }
        }
    }

    @Test
    void threadsOfAProcessNeedNoRegistration() {
        try (LocalRanks ranks = LocalRanks.start(2, EmulatedGpus.config().build())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 4096);
                        Registration registration = comm.register(memory.elements(100, DataType.INT64))) {
                    assertThat(registration.isInPlace()).isTrue();
                    assertThat(registration.buffer().count()).isEqualTo(100);
                    EmulatedGpus.sumUp(comm, 0);
                }
            });
        }
    }

    @Test
    void registrationHasNoEffectIfTheHostExecutesOperations() {
        try (LocalRanks ranks = LocalRanks.start(
                2, EmulatedGpus.config().setting("JCCL_GPU_HOST_STAGING", "on").build())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 4096);
                        Registration registration = comm.register(memory.elements(100, DataType.INT64))) {
                    assertThat(registration.isInPlace()).isFalse();
                    EmulatedGpus.sumUp(comm, 0);
                }
            });
        }
    }

    @Test
    void registrationOfAnArrayOrOfAMissingDevicesMemoryIsRefused() {
        try (LocalRanks ranks = LocalRanks.start(1, EmulatedGpus.config().build());
                HostBuffer shared = HostBuffer.allocate(64)) {
            Communicator comm = ranks.get(0);
            assertThatThrownBy(() -> comm.register(DataBuffer.of(new float[16])))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("memory=HEAP")
                    .hasMessageContaining("use HostBuffer");
            try (Registration registration = comm.register(shared.slice(0, 64, DataType.INT8))) {
                assertThat(registration.isInPlace()).isTrue();
            }
        }
        try (LocalRanks ranks = LocalRanks.start(1)) {
            assertThatThrownBy(() -> ranks.get(0).register(DataBuffer.device(64, 16, DataType.INT8)))
                    .isInstanceOf(DeviceException.class)
                    .hasMessageContaining("JCCL_DEVICE");
        }
    }
}
