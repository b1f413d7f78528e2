package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * IPC handle exchange: processes on one host map each other's device memory by file descriptors of the driver, by CUDA
 * IPC handles, or not at all. GPUs and driver are emulated; their memory is real.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedHandleExchangeTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final String BY_HANDLE = "its device memory for other processes: CUDA IPC handle";
    private static final String BY_DESCRIPTOR =
            "its device memory for other processes: file descriptor (cuMemCreate)\n";
    private static final String NOTHING_LEFT = "LEFT []";
    private static final String THROUGH_THE_HOST = "through memory of the host, by shm";

    @TempDir
    Path folder;

    /**
     * Starts ranks as processes, which initialise communicators and all-reduce. Returns their outputs.
     *
     * @param sharing for each rank, what its driver can do: words of {@code JCCL_EMULATED_SHARING}
     * @param variables environment variables, as {@code NAME=value}
     */
    private List<String> run(List<String> sharing, String... variables) throws Exception {
        return run(sharing, List.of(), variables);
    }

    /** @param hosts the name of each rank's simulated host; empty if all ranks are on this one */
    private List<String> run(List<String> sharing, List<String> hosts, String... variables) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                sharing.size(),
                rank -> Stream.concat(
                                Stream.of("env", "JCCL_EMULATED_SHARING=" + sharing.get(rank)), Stream.of(variables))
                        .toList(),
                "device-handle-exchange",
                Stream.concat(Stream.of(EmulatedGpus.library()), hosts.stream()).toArray(String[]::new))) {
            for (int rank = 0; rank < sharing.size(); rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("LEFT ");
            }
            return IntStream.range(0, sharing.size()).mapToObj(ranks::output).toList();
        }
    }

    @Test
    void processesMapEachOthersMemoryByDescriptorsAndLeaveNothing() throws Exception {
        for (String output : run(List.of("descriptors", "descriptors", "descriptors"))) {
            assertThat(output).contains(BY_DESCRIPTOR).contains(NOTHING_LEFT).doesNotContain(THROUGH_THE_HOST);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "descriptors,handles,no-export; cuMemExportToShareableHandle: .*CUDA_ERROR_NOT_SUPPORTED",
                "descriptors,handles,no-import; cuMemImportFromShareableHandle: .*CUDA_ERROR_NOT_SUPPORTED",
                "handles; device=[01] has no file descriptors of memory"
            })
    void handlesAreUsedIfTheDriverRefusesDescriptors(String sharing, String reason) throws Exception {
        for (String output : run(List.of(sharing, sharing))) {
            assertThat(output)
                    .containsPattern(BY_HANDLE + "; no file descriptor: .*" + reason)
                    .doesNotContain(THROUGH_THE_HOST);
        }
    }

    @Test
    void handlesAreUsedIfTheSettingDisablesDescriptors() throws Exception {
        for (String output : run(List.of("descriptors,handles", "descriptors,handles"), "JCCL_CUMEM_ENABLE=0")) {
            assertThat(output).contains(BY_HANDLE + "\n").doesNotContain(THROUGH_THE_HOST);
        }
    }

    /** Peers of a rank that cannot import descriptors use handles; its own descriptor serves all. */
    @Test
    void onlyRanksWhoseDescriptorIsRefusedUseHandles() throws Exception {
        List<String> outputs =
                run(List.of("descriptors,handles", "descriptors,handles,no-import", "descriptors,handles"));
        for (int rank : new int[] {0, 2}) {
            assertThat(outputs.get(rank))
                    .containsPattern(
                            BY_HANDLE + "; no file descriptor: rank=1 could not take it: rank=0: the descriptor of "
                                    + "its device memory: cuMemImportFromShareableHandle: .*CUDA_ERROR_NOT_SUPPORTED\n");
        }
        assertThat(outputs.get(1))
                .contains(BY_DESCRIPTOR)
                .contains("rank=1: maps the device memory of ranks {0,2} by CUDA IPC handles: rank=0: ");
        assertThat(outputs).noneMatch(output -> output.contains(THROUGH_THE_HOST));
    }

    @Test
    void descriptorRefusedOnOneHostChangesNothingOnAnother() throws Exception {
        List<String> outputs = run(
                List.of(
                        "descriptors,handles",
                        "descriptors,handles,no-import",
                        "descriptors,handles",
                        "descriptors,handles"),
                List.of("one", "one", "other", "other"));
        assertThat(outputs.get(0)).contains(BY_HANDLE + "; no file descriptor: rank=1 could not take it: ");
        for (String output : outputs.subList(1, 4)) {
            assertThat(output).contains(BY_DESCRIPTOR);
        }
    }

    /** A rank without descriptors offers its handle, and imports the other rank's descriptor. */
    @Test
    void ranksWithDifferentDriversMixDescriptorsAndHandles() throws Exception {
        List<String> outputs = run(List.of("descriptors,handles", "handles"));
        assertThat(outputs.get(0)).contains(BY_DESCRIPTOR);
        assertThat(outputs.get(1)).contains(BY_HANDLE);
        assertThat(outputs).noneMatch(output -> output.contains(THROUGH_THE_HOST));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "descriptors,no-import; its driver cannot share device memory with other processes [(]CUDA IPC[)]",
                "descriptors,handles,no-import,no-open;"
                        + "its device memory cannot be opened: cuIpcOpenMemHandle: CUDA_ERROR_NOT_SUPPORTED"
            })
    void hostMemoryIsUsedIfTheDriverRefusesDescriptorsAndHandles(String sharing, String reason) throws Exception {
        for (String output : run(List.of(sharing, sharing))) {
            assertThat(output).containsPattern(THROUGH_THE_HOST + ".*" + reason);
        }
    }
}
