package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.config.NcclVariable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Jobs of two processes in environments that were written for NCCL. */
@Timeout(240)
class NcclEnvironmentTest {

    private static final Duration LIMIT = Duration.ofSeconds(100);

    /** A topology file of another host's GPUs, with the ranks of the job that wrote it. Clouds publish such files. */
    private static final String DUMP =
            """
            <system version="1"><cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
              <pci busid="0001:00:00.0" class="0x030200" vendor="0x10de"><gpu dev="0" sm="80" rank="0" gdr="1">
                <nvlink target="0002:00:00.0" count="12" tclass="0x030200"/></gpu></pci>
              <pci busid="0002:00:00.0" class="0x030200" vendor="0x10de"><gpu dev="1" sm="80" rank="5" gdr="1">
                <nvlink target="0001:00:00.0" count="12" tclass="0x030200"/></gpu></pci>
            </cpu></system>
            """;

    private static final List<String> EFA = List.of(
            "FI_PROVIDER=efa",
            "NCCL_DEBUG=INFO",
            "NCCL_SOCKET_IFNAME=^docker,lo,veth_def_agent,eth",
            "NCCL_PROTO=simple",
            "NCCL_NVLS_ENABLE=0",
            "NCCL_BUFFSIZE=8388608",
            "NCCL_P2P_NET_CHUNKSIZE=524288",
            "NCCL_NET=AWS Libfabric",
            "NCCL_TUNER_PLUGIN=/opt/amazon/ofi-nccl/lib/libnccl-ofi-tuner.so");

    private static final List<String> AZURE = List.of(
            "NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml",
            "NCCL_GRAPH_FILE=/opt/microsoft/ncv4-graph.xml",
            "NCCL_IB_PCI_RELAXED_ORDERING=1",
            "NCCL_SOCKET_IFNAME=eth0",
            "NCCL_MIN_NCHANNELS=32",
            "NCCL_PXN_DISABLE=1",
            "NCCL_IGNORE_CPU_AFFINITY=1",
            "UCX_TLS=rc");

    private static final List<String> GOOGLE = List.of(
            "NCCL_NET=gIB",
            "NCCL_CROSS_NIC=0",
            "NCCL_NSOCKS_PERTHREAD=4",
            "NCCL_SOCKET_NTHREADS=1",
            "NCCL_NET_GDR_LEVEL=PIX",
            "NCCL_ALGO=Ring,Tree",
            "NCCL_IB_TC=52",
            "NCCL_IB_FIFO_TC=84",
            "NCCL_MAX_NCHANNELS=12",
            "NCCL_MIN_NCHANNELS=12",
            "NCCL_TUNER_CONFIG_PATH=/usr/local/gib/configs/tuner_config_a3u.txtpb",
            "NCCL_NVLS_CHUNKSIZE=524288");

    private static final List<String> ORACLE = List.of(
            "NCCL_IB_SPLIT_DATA_ON_QPS=0",
            "NCCL_IB_QPS_PER_CONNECTION=4",
            "NCCL_IB_GID_INDEX=3",
            "NCCL_IB_HCA==mlx5_0,mlx5_1:1",
            "NCCL_IB_TC=41",
            "NCCL_IB_SL=0",
            "NCCL_IB_TIMEOUT=22",
            "NCCL_CUMEM_ENABLE=0",
            "NCCL_ALGO=auto",
            "NCCL_NET_PLUGIN=none");

    private static final List<String> SLURM = List.of(
            "NCCL_SOCKET_IFNAME=^lo,^docker",
            "NCCL_IB_TIMEOUT=50",
            "NCCL_IB_RETRY_CNT=13",
            "NCCL_IB_PCI_RELAXED_ORDERING=2",
            "NCCL_ALGO=^NVLSTree;allreduce:Tree,NVLSTree;allgather:tree",
            "NCCL_PROTO=^LL128",
            "NCCL_P2P_LEVEL=NODE",
            "NCCL_NTHREADS=50",
            "NCCL_SHM_DISABLE=true",
            "NCCL_HOSTID=node",
            "NCCL_DEBUG_SUBSYS=INIT,NET",
            "NCCL_CONF_FILE=/etc/nccl.conf");

    @TempDir
    Path folder;

    static Stream<Arguments> scripts() {
        return Stream.of(
                Arguments.of("NCCL's defaults", all(NcclVariable::defaultText)),
                Arguments.of("first values", all(variable -> variable.texts().get(0))),
                Arguments.of("last values", all(NcclEnvironmentTest::last)),
                Arguments.of("EFA", EFA),
                Arguments.of("Azure", AZURE),
                Arguments.of("Google", GOOGLE),
                Arguments.of("Oracle", ORACLE),
                Arguments.of("Slurm", SLURM));
    }

    private static String last(NcclVariable variable) {
        return variable.texts().get(variable.texts().size() - 1);
    }

    private static List<String> all(Function<NcclVariable, String> text) {
        return NcclVariable.all().stream()
                .filter(variable -> !text.apply(variable).isEmpty())
                .map(variable -> variable.name() + "=" + text.apply(variable))
                .toList();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("scripts")
    void aJobOnHostMemoryRunsInAnEnvironmentForNccl(String name, List<String> environment) throws Exception {
        String output = run(2, rank -> environment);

        assertThat(output).doesNotContain("IllegalArgumentException");
    }

    @Test
    void ranksOfAnotherJobInADumpAreIgnored() throws Exception {
        String file = Files.writeString(folder.resolve("dump.xml"), DUMP).toString();

        run(2, rank -> List.of("NCCL_TOPO_FILE=" + file, "JCCL_HOST_ID=host" + rank));
    }

    @Test
    void graphFileThatOnlySomeRanksHaveIsIgnored() throws Exception {
        String file = Files.writeString(folder.resolve("graphs.xml"), "<graphs version=\"1\"/>")
                .toString();

        String output = run(2, rank -> rank == 0 ? List.of() : List.of("NCCL_GRAPH_FILE=" + file));

        assertThat(output).contains("NCCL_GRAPH_FILE: its content is not the same on all ranks");
    }

    /** Runs the processes of a job, and returns what they printed. */
    private String run(int size, IntFunction<List<String>> environment) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.startLaunched(
                folder, size, rank -> command(rank, size, environment.apply(rank)), "launched-sample", "6")) {
            for (int rank = 0; rank < size; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks::allOutput).isZero();
            }
            String output = ranks.allOutput();
            assertThat(output.lines().filter("RESULT ok"::equals).collect(Collectors.toList()))
                    .hasSize(size);
            return output;
        }
    }

    private List<String> command(int rank, int size, List<String> environment) {
        List<String> command = new ArrayList<>(List.of("env"));
        command.addAll(environment);
        command.addAll(List.of(
                "JCCL_RANK=" + rank, "JCCL_SIZE=" + size, "JCCL_RENDEZVOUS=file:" + folder.resolve("rendezvous")));
        return command;
    }
}
