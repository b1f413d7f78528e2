package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.topology.ProcessorGroups;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as processes: the transports between them, hosts simulated by host ids, and unauthenticated peers. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProcessesTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Pattern WAITED = Pattern.compile("WAITED (\\d+) ms, processor (\\d+) ms.*");

    /** Limit of the CPU time of all threads of a rank that waits, in percent of one core; about 1 is measured. */
    private static final int MAX_PERCENT = 5;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"2, shm", "3, socket", "4, shm"})
    void everyCollectiveGivesTheExactResultBetweenProcesses(int size, String transport) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, size, "matrix", transport, "80")) {
            requireAllFine(ranks, size);
        }
    }

    @ParameterizedTest
    @CsvSource({"a/a/b/b, 0:shm|2:socket|3:socket", "b/a/a/a, 0:socket|2:shm|3:shm"})
    void hostsUseSocketsBetweenThemAndSharedMemoryInside(String hosts, String transportsOfRank1) throws Exception {
        String[] hostOfRank = hosts.split("/");
        try (ProcessRanks ranks = ProcessRanks.start(folder, 4, "hosts", hostOfRank)) {
            requireAllFine(ranks, 4);
            assertThat(ranks.output(1)).contains("TRANSPORTS [" + transportsOfRank1.replace("|", ", ") + "]");
        }
    }

    @Test
    void settingBindsAProcessToProcessors() throws Exception {
        BigInteger open = ProcessorGroups.ofThisHost().open();
        int first = open.getLowestSetBit();
        int last = open.bitLength() - 1;
        try (ProcessRanks ranks = ProcessRanks.start(
                folder,
                2,
                "bound",
                Integer.toString(first),
                "0x" + BigInteger.ZERO.setBit(last).toString(16))) {
            requireAllFine(ranks, 2);
            assertThat(ranks.output(0)).contains("BOUND [" + first + "]");
            assertThat(ranks.output(1)).contains("BOUND [" + last + "]");
            assertThat(ranks.output(0))
                    .contains("REFUSED JCCL_CPU_AFFINITY=\"0-63\": an earlier communicator has bound this process to "
                            + first);
        }
    }

    @Test
    void aProcessorThatAProcessMayNotUseIsRefused() {
        int closed = ProcessorGroups.ofThisHost().open().bitLength();
        assertThatThrownBy(() -> Communicator.init(
                        UniqueId.create(),
                        0,
                        1,
                        CommunicatorConfig.builder()
                                .setting("JCCL_CPU_AFFINITY", "0-" + closed)
                                .build()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_CPU_AFFINITY=\"0-" + closed + "\": this process may not use")
                .hasMessageContaining(closed + ", expected some of ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"shm", "socket"})
    void ranksThatWaitForALateRankAreNearlyIdle(String transport) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "late", "3000", transport)) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
            }
            for (int rank = 0; rank < 2; rank++) {
                Matcher waited = WAITED.matcher(ranks.output(rank));
                assertThat(waited.find()).as(ranks.output(rank)).isTrue();
                long millis = Long.parseLong(waited.group(1));
                assertThat(millis).isGreaterThan(1000);
                assertThat(Long.parseLong(waited.group(2))).as(waited.group()).isLessThan(millis * MAX_PERCENT / 100);
            }
        }
    }

    @Test
    void aThousandUnauthenticatedPeersChangeNothing() throws Exception {
        UniqueId id = UniqueId.create();
        CompletableFuture<Void> unauthenticated =
                CompletableFuture.runAsync(() -> sendGarbage(id.addresses().get(0), 500));
        try (ProcessRanks ranks = ProcessRanks.start(id, folder, 2, "join")) {
            sendGarbage(id.addresses().get(0), 500);
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank)).contains("RESULT 1");
            }
        }
        unauthenticated.get(60, TimeUnit.SECONDS);
    }

    /** Connects repeatedly and sends random bytes, sometimes none. */
    private static void sendGarbage(InetSocketAddress address, int times) {
        Random random = new Random(times);
        for (int i = 0; i < times; i++) {
            try (Socket peer = new Socket()) {
                peer.connect(address, 1000);
                byte[] garbage = new byte[random.nextInt(300)];
                random.nextBytes(garbage);
                OutputStream out = peer.getOutputStream();
                out.write(garbage);
                out.flush();
            } catch (IOException e) {
                // The server may have ended, because all ranks have joined, or it closed this connection.
                continue;
            }
        }
    }

    private static void requireAllFine(ProcessRanks ranks, int size) throws InterruptedException {
        for (int rank = 0; rank < size; rank++) {
            assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
            assertThat(ranks.output(rank)).contains("RESULT ok").doesNotContain("WARNING in native method");
        }
    }
}
