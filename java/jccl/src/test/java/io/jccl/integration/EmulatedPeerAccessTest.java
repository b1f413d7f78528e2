package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Pairs of GPUs that must not use each other's memory, or cannot, although the driver offers it: by policy, because
 * other data arrives, or because containers separate them. GPUs and driver are emulated.
 */
@Timeout(value = 400, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedPeerAccessTest {

    private static final Duration LIMIT = Duration.ofSeconds(180);
    private static final String THREADS = "threads";
    private static final String STAGED = "through memory of the host, by ";

    @TempDir
    Path folder;

    /**
     * Runs ranks and requires that their operations are correct. Returns the output of all processes.
     *
     * @param sharing {@link #THREADS}, or how the driver shares memory between processes, of which each is a rank
     * @param devices the device of each rank, separated by commas
     * @param variables environment variables, as {@code NAME=value}; {@code RANK} stands for the rank
     */
    private String run(String sharing, String devices, String... variables) throws Exception {
        boolean threads = sharing.equals(THREADS);
        int processes = threads ? 1 : devices.split(",").length;
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                processes,
                rank -> Stream.concat(
                                Stream.of(
                                        "env",
                                        "JCCL_EMULATED_GPUS=3",
                                        "JCCL_EMULATED_SHARING=" + (threads ? "" : sharing)),
                                Stream.of(variables).map(one -> one.replace("RANK", Integer.toString(rank))))
                        .toList(),
                "peer-access",
                EmulatedGpus.library(),
                devices)) {
            StringBuilder all = new StringBuilder();
            for (int rank = 0; rank < processes; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
                all.append(ranks.output(rank));
            }
            return all.toString();
        }
    }

    private static List<String> matches(String output, String pattern) {
        return Pattern.compile(pattern)
                .matcher(output)
                .results()
                .map(MatchResult::group)
                .toList();
    }

    @ParameterizedTest
    @CsvSource({
        "threads, UNUSED=1",
        "descriptors, UNUSED=1",
        "handles, UNUSED=1",
        "threads, NCCL_P2P_LEVEL=PXB",
        "threads, JCCL_P2P_LEVEL=PHB"
    })
    void gpusOfTwoSocketsExchangeDataThroughHostMemoryAsPlanned(String sharing, String variable) throws Exception {
        String topology = EmulatedGpus.topologyOfSockets(folder, 0, 1);
        String output = run(sharing, "0,1", "JCCL_TOPO_FILE=" + topology, variable);
        assertThat(matches(
                        output, STAGED + ".*the path between the GPUs has type SYS, and peer access is used up to P"))
                .as(output)
                .hasSize(2);
    }

    @ParameterizedTest
    @CsvSource({"threads, JCCL_P2P_LEVEL=SYS", "descriptors, NCCL_P2P_LEVEL=4"})
    void gpusOfTwoSocketsUseEachOthersMemoryIfTheLevelAllows(String sharing, String variable) throws Exception {
        String topology = EmulatedGpus.topologyOfSockets(folder, 0, 1);
        assertThat(run(sharing, "0,1", "JCCL_TOPO_FILE=" + topology, variable)).doesNotContain(STAGED);
    }

    @Test
    void levelAppliesPairByPair() throws Exception {
        String topology = EmulatedGpus.topologyOfSockets(folder, 0, 0, 1);
        assertThat(run(THREADS, "0,1,2,2", "JCCL_TOPO_FILE=" + topology))
                .contains("rank=0: to the GPUs of ranks {2,3} " + STAGED)
                .contains("rank=1: to the GPUs of ranks {2,3} " + STAGED)
                .contains("rank=2: to the GPUs of ranks {0,1} " + STAGED)
                .contains("rank=3: to the GPUs of ranks {0,1} " + STAGED);
    }

    @ParameterizedTest
    @CsvSource({"JCCL_P2P_LEVEL=LOC, up to LOC", "NCCL_P2P_DISABLE=1, NCCL_P2P_DISABLE is set"})
    void gpusOfOneSwitchAreKeptApartBySettings(String variable, String reason) throws Exception {
        String topology = EmulatedGpus.topologyOfSockets(folder, 0, 0);
        assertThat(run(THREADS, "0,1", "JCCL_TOPO_FILE=" + topology, variable)).containsPattern(STAGED + ".*" + reason);
    }

    @ParameterizedTest
    @CsvSource({
        "threads, reads:0-1, reads by rank=0",
        "threads, writes:1-0, writes by rank=1",
        "descriptors, reads:1-0, reads by rank=1",
        "descriptors, writes:0-1, writes by rank=0",
        "handles, reads:0-1, reads by rank=0",
        "handles, writes:0-1, writes by rank=0"
    })
    void pairWhoseMemoryBringsOtherDataIsStagedWithAWarning(String sharing, String fault, String what)
            throws Exception {
        String output = run(sharing, "0,1,2", "JCCL_EMULATED_FAULTS=" + fault);
        String gpus = "GPUs device=0 busId=0000:11:00.0 of rank=0 and device=1 busId=0000:12:00.0 of rank=1: .*";
        assertThat(matches(output, gpus + what + " bring other data .*(ACS).*JCCL_P2P_DISABLE=1"))
                .as(output)
                .hasSize(1);
        assertThat(output)
                .containsPattern("rank=0: to the GPUs of ranks .1. " + STAGED)
                .containsPattern("rank=1: to the GPUs of ranks .0. " + STAGED)
                .doesNotContain("rank=2: to the GPUs of ranks");
    }

    @Test
    void slotsServeIfOnlyOperationsInPlaceBringOtherData() throws Exception {
        assertThat(run(THREADS, "0,1", "JCCL_EMULATED_FAULTS=in_place/reads:0-1"))
                .contains("the self-test of operations in place failed")
                .doesNotContain(STAGED);
    }

    @Test
    void containersWithAGpuEachAreWarnedAboutOnce() throws Exception {
        String output = run("descriptors,handles", "0,0,0", "JCCL_EMULATED_CONTAINER=RANK");
        assertThat(matches(output, "processes of one host cannot map the memory of each other's GPUs .*--ipc=host"))
                .as(output)
                .hasSize(1);
        // Each rank logs a line for each peer, because the reasons name the peer.
        assertThat(matches(output, "rank=[012]: to the GPUs of ranks .* " + STAGED + "shm"))
                .hasSize(6);
    }
}
