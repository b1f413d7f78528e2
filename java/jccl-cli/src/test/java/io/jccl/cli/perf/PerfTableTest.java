package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.Execution;
import io.jccl.Protocol;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PerfTableTest {

    private static final Execution RING = new Execution(Algorithm.RING, Protocol.LL128, 2);

    static PerfRow row(String collective, PerfRow.Side outOfPlace, PerfRow.Side inPlace) {
        return new PerfRow(
                collective,
                "host",
                "shm",
                4,
                1 << 20,
                1 << 18,
                "float32",
                "sum",
                -1,
                RING,
                outOfPlace,
                inPlace,
                Optional.empty());
    }

    static PerfRow.Side side(double us, Long wrong) {
        return PerfRow.Side.of(new Stopwatch.Times(us, us * 0.9, us * 2), 1 << 20, 1.5, wrong);
    }

    @Test
    void columnsAreInTheOrderOfNcclTests() {
        PerfTable table = new PerfTable(false, "float32");
        String text = table.head()
                + table.row(row("all_reduce", side(123.456, 0L), side(99.5, 3L)))
                + table.row(row("all_reduce", side(0.0412, null), side(12_345.6, null)))
                + table.row(row("all_to_all", side(5.5, 0L), PerfRow.Side.absent(true)));
        assertThat(text)
                .isEqualTo(
                        """
                #                                                           out-of-place                         in-place
                #       size        count      type  redop   root       time   algbw   busbw #wrong        time   algbw   busbw #wrong   algo  proto ch
                #        (B)   (elements)                               (us)  (GB/s)  (GB/s)               (us)  (GB/s)  (GB/s)
                     1048576       262144   float32    sum     -1     123.46    8.49   12.74      0       99.50   10.54   15.81      3   ring  ll128  2
                     1048576       262144   float32    sum     -1      0.041   25451   38176    N/A     12345.6    0.08    0.13    N/A   ring  ll128  2
                     1048576       262144   float32    sum     -1      5.500  190.65  285.98      0           -       -       -    N/A   ring  ll128  2
                """);
    }

    @Test
    void aPeersMediansAndTheRatiosFollowTheOwnColumns() {
        PerfRow own = row("all_reduce", side(10, 0L), side(20, 0L));
        PerfRow compared = new PerfRow(
                own.collective(),
                own.backend(),
                own.transport(),
                own.ranks(),
                own.bytes(),
                own.count(),
                own.type(),
                own.op(),
                own.root(),
                own.execution(),
                own.outOfPlace(),
                own.inPlace(),
                Optional.of(new PerfRow.PeerTimes("2.30.3", side(20, 0L), PerfRow.Side.absent(true))));
        PerfTable table = new PerfTable(false, "float32");
        String[] lines = (table.headWithPeer() + table.row(compared)).split("\n");
        assertThat(lines).hasSize(4);
        assertThat(lines[1]).endsWith("algo  proto ch  nccl(out) ratio   nccl(in) ratio");
        assertThat(lines[3]).endsWith("  ring  ll128  2      18.00  0.50          -     -");
        assertThat(compared.toJson(RunInfos.SAMPLE))
                .contains("\"peer\":{\"name\":\"nccl\",\"version\":\"2.30.3\",\"out_of_place\":{\"time_us\":20.0,")
                .contains("\"out_of_place_ratio\":0.5,\"in_place_ratio\":null}");
    }

    @Test
    void theBusBandwidthOfVFormsIsThatOfEqualBlocks() {
        assertThat(PerfTable.legend(PerfCollective.parse("all_gather"), 4))
                .contains("busbw: algbw x 0.750, the load of the slowest link; ");
        assertThat(PerfTable.legend(PerfCollective.parse("all_gather_v"), 4))
                .contains("busbw: algbw x 0.750, as with equal blocks; ");
    }

    @Test
    void aLongTypeNameMakesItsColumnWider() {
        String[] lines = new PerfTable(false, "float8_e4m3").head().split("\n");
        assertThat(lines[1]).startsWith("#       size        count        type  redop");
        assertThat(new PerfTable(false, "float32").head().split("\n")[1])
                .startsWith("#       size        count      type  redop");
    }

    @Test
    void wrongCountsAreRedIfColoursAreOn() {
        assertThat(new PerfTable(true, "float32").row(row("all_reduce", side(1, 3L), side(1, 0L))))
                .containsOnlyOnce("\u001b[31m     3\u001b[0m");
    }

    @Test
    void jsonLineHasTheDocumentedFields() {
        assertThat(row("all_reduce", side(100, 0L), PerfRow.Side.absent(false)).toJson(RunInfos.SAMPLE))
                .isEqualTo("{\"collective\":\"all_reduce\",\"backend\":\"host\",\"transport\":\"shm\",\"ranks\":4,"
                        + "\"bytes\":1048576,\"count\":262144,\"type\":\"float32\",\"op\":\"sum\",\"algorithm\":\"ring\","
                        + "\"protocol\":\"ll128\",\"channels\":2,\"out_of_place\":{\"time_us\":100.0,\"p50_us\":90.0,"
                        + "\"p99_us\":200.0,\"algbw_gbps\":10.4858,\"busbw_gbps\":15.7286,\"wrong\":0},"
                        + "\"in_place\":{\"time_us\":null,\"p50_us\":null,\"p99_us\":null,\"algbw_gbps\":null,"
                        + "\"busbw_gbps\":null,\"wrong\":null},"
                        + "\"run\":{\"version\":\"1.2.0\",\"build\":\"0a1b\",\"java\":\"17.0.1+12\","
                        + "\"date\":\"2026-11-23T10:20:30Z\",\"mode\":\"await\",\"host\":\"node1\",\"kernel\":\"Linux 6.1\","
                        + "\"processor\":\"Processor, 2 GHz\",\"cores\":2,\"gpus\":[],\"processes\":4,"
                        + "\"hosts\":[\"node1\",\"node2\"],\"settings\":{\"JCCL_ALGO\":\"ring\"}}}");
    }
}
