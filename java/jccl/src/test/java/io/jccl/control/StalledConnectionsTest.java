package io.jccl.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.wire.LastEntered;
import io.jccl.wire.WireReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests which connections of a process stall according to the kernel's tables. */
@Timeout(20)
class StalledConnectionsTest {

    private static final String HEADER =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt ...\n";

    @TempDir
    Path process;

    private void table(String name, String... rows) throws IOException {
        Files.createDirectories(process.resolve("net"));
        Files.writeString(process.resolve("net").resolve(name), HEADER + String.join("\n", rows) + "\n");
    }

    private void owns(String... inodes) throws IOException {
        Files.createDirectories(process.resolve("fd"));
        for (String inode : inodes) {
            Files.createSymbolicLink(process.resolve("fd").resolve(inode), Path.of("socket:[" + inode + "]"));
        }
        Files.createSymbolicLink(process.resolve("fd").resolve("0"), Path.of("/dev/null"));
    }

    private static String row(String remote, String state, String queue, String timer, String again, int inode) {
        return "   0: 01014F0A:A0B1 " + remote + " " + state + " " + queue + ":00000000 " + timer + ":0000012C 0000000"
                + again + "     0        0 " + inode + " 2 0000000000000000 2460 4 30 1 7";
    }

    @Test
    void theConnectionWithMostRetransmissionsIsNamed() throws IOException {
        owns("11", "12", "13");
        table(
                "tcp",
                row("01024F0A:0B54", "01", "00001000", "01", "4", 11),
                row("02024F0A:0B55", "01", "00061A80", "01", "6", 12));
        table("tcp6", row("B80D0120000000000000000001000000:0050", "01", "00001000", "01", "3", 13));
        assertThat(StalledConnections.brief(process))
                .isEqualTo("bytes=400000 to 10.79.2.2:2901 sent again 6 times, of 3 such connections");
    }

    @Test
    void anIpv6AddressIsReadable() throws IOException {
        owns("13");
        table("tcp6", row("B80D0120000000000000000001000000:0050", "01", "00001000", "01", "3", 13));
        assertThat(StalledConnections.brief(process))
                .isEqualTo("bytes=4096 to [2001:db8:0:0:0:0:0:1]:80 sent again 3 times");
    }

    @Test
    void connectionsThatAdvanceOrBelongToOthersDoNotStall() throws IOException {
        owns("1", "2", "3", "4");
        table(
                "tcp",
                row("01024F0A:0B54", "01", "00061A80", "01", "2", 1), // a lost packet
                row("01024F0A:0B54", "01", "00061A80", "04", "7", 2), // a peer that does not read
                row("01024F0A:0B54", "01", "00000040", "01", "7", 3), // a small message
                row("01024F0A:0B54", "02", "00061A80", "01", "7", 4), // not connected
                row("01024F0A:0B54", "01", "00061A80", "01", "7", 5)); // of another process
        assertThat(StalledConnections.brief(process)).isEmpty();
        assertThat(StalledConnections.brief(process.resolve("absent"))).isEmpty();
    }

    @Test
    void aFailureNamesTheConnectionOfEachRankAndTheRemedy() {
        RankStatus stalled = new RankStatus(
                0,
                RankStatus.State.ANSWERED,
                LastEntered.NOTHING,
                Optional.empty(),
                List.of(),
                Trail.NONE,
                "bytes=400000 to 10.79.2.2:2901 sent again 6 times");
        FailureReport report = new FailureReport(
                FailureReport.Kind.TIMEOUT,
                1,
                0,
                new TreeSet<>(),
                new TreeSet<>(),
                List.of(stalled, RankStatus.silent(1)),
                "late");
        FailureReport received = Codecs.decodeFailure(new WireReader(Codecs.encode(report)), 2);
        assertThat(received.describe())
                .contains("rank=0", "unacknowledged: bytes=400000 to 10.79.2.2:2901 sent again 6 times")
                .contains("the path drops full-sized packets")
                .contains("jccl doctor --peers");
    }
}
