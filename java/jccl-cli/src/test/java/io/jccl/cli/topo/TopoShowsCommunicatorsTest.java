package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.config.Settings;
import io.jccl.init.CommunicatorInitializer;
import io.jccl.init.ConnectedDevice;
import io.jccl.init.InitializedCommunicator;
import io.jccl.init.Parts;
import io.jccl.planning.Plan;
import io.jccl.planning.PlanningOptions;
import io.jccl.topology.TopologySource;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.HostCosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that communicators use the plan and the choices that {@code jccl topo} shows for the described hosts. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TopoShowsCommunicatorsTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    /** Two ranks on each of two NUMA nodes, and two networks, one of which is faster. */
    private static final String HOST =
            """
            <system version="1">
              <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17">
                <nic><net name="ens1" dev="0" speed="100000" gdr="0"/></nic>
                <host rank="RANK0" bw="12.0"/><host rank="RANK2" bw="12.0"/>
              </cpu>
              <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17">
                <nic><net name="eno1" dev="1" speed="10000" gdr="0"/></nic>
                <host rank="RANK1" bw="12.0"/><host rank="RANK3" bw="12.0"/>
              </cpu>
            </system>""";

    /** Makes ranks, although they are threads, connect as processes do: without direct use of each other's memory. */
    private static final Map<String, String> AS_PROCESSES = Map.of("JCCL_P2P_DISABLE", "1");

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"1, 0", "2, 0", "3, 0", "1, 1", "2, 1"})
    void hostRanksUseTheShownPlanAndChoices(int hosts, int withoutSharedMemory) throws Exception {
        Map<String, String> settings = new TreeMap<>(AS_PROCESSES);
        settings.put("JCCL_SHM_DISABLE", Integer.toString(withoutSharedMemory));
        requireShownOnHost(HOST, 4, hosts, settings);
    }

    @ParameterizedTest
    @CsvSource({"1", "2"})
    void hostRanksOnADescriptionOfGpusUseTheShownPlanAndChoices(int hosts) throws Exception {
        String gpus = Reports.host(1, 1, 2, Reports.Fabric.SWITCH)
                .replace("rank=\"0\"", "rank=\"RANK0\"")
                .replace("rank=\"1\"", "rank=\"RANK1\"");
        requireShownOnHost(gpus, 2, hosts, AS_PROCESSES);
    }

    @Test
    void settingsChangeCommunicatorsAndTheCommandAlike() throws Exception {
        Map<String, String> settings = new TreeMap<>(AS_PROCESSES);
        settings.putAll(Map.of(
                "JCCL_MIN_NCHANNELS", "2",
                "JCCL_MAX_NCHANNELS", "3",
                "JCCL_ALGO", "ring,tree",
                "JCCL_PROTO", "simple",
                "JCCL_CHUNK_BYTES", "4096",
                "JCCL_CROSS_NIC", "1"));
        requireShownOnHost(HOST, 4, 2, settings);
    }

    /** The GPUs are emulated. Ranks of different hosts stage their data, so no operation works in place. */
    @Test
    void ranksOnGpusUseTheShownChoices() throws Exception {
        requireShownOnGpus(Reports.host(1, 1, 2, Reports.Fabric.SWITCH), 2, Map.of());
    }

    @Test
    void ranksOnGpusOfTwoSocketsUseTheShownChoicesThroughHostMemory() throws Exception {
        requireShownOnGpus(Reports.host(2, 1, 1, Reports.Fabric.PCI), 1, Map.of());
    }

    @ParameterizedTest
    @CsvSource({"JCCL_P2P_LEVEL, LOC", "JCCL_P2P_DISABLE, 1"})
    void ranksOnGpusThatASettingKeepsApartUseTheShownChoices(String setting, String value) throws Exception {
        requireShownOnGpus(Reports.host(1, 1, 2, Reports.Fabric.PCI), 1, Map.of(setting, value));
    }

    @Test
    void threadsOnGpusThatReachEachOtherUseTheChoicesShownForThreads() throws Exception {
        requireShownOnGpus(Reports.host(1, 1, 2, Reports.Fabric.PCI), 1, Map.of());
    }

    /** Compares the choices of threads on two emulated GPUs of each host with those that the command shows. */
    private void requireShownOnGpus(String host, int hosts, Map<String, String> more) throws Exception {
        Path library = Path.of(System.getProperty("jccl.emulated.cuda", "none"));
        assumeTrue(Files.exists(library), library + " was not built");
        System.setProperty("jccl.cuda.path", library.toString());
        String unranked = host.replaceAll(" rank=\"\\d\"", "")
                .replace("0000:01:00.0", "0000:11:00.0")
                .replace("0000:02:00.0", "0000:12:00.0");
        Map<String, String> shownBy = new TreeMap<>(more);
        // few thread blocks can run at once on an emulated GPU
        shownBy.putAll(Map.of("JCCL_NTHREADS", "64", "JCCL_MAX_NCHANNELS", "2"));
        Map<String, String> settings = new TreeMap<>(shownBy);
        settings.put(
                "JCCL_TOPO_FILE",
                Files.writeString(folder.resolve("gpus.xml"), unranked).toString());
        String described = TopologyXmlWriter.write(TopologySource.describeGpus(
                        load(settings),
                        TopologySource.Networks.NONE,
                        Map.of("0000:11:00.0", List.of(0), "0000:12:00.0", List.of(1)))
                .orElseThrow());
        TopologyReport shown = shown(described, hosts, shownBy);
        onRanks(
                2 * hosts,
                rank -> config(settings)
                        .hostId("host" + rank / 2)
                        .device(rank % 2)
                        .build(),
                communicator -> {
                    ConnectedDevice device = communicator.device().orElseThrow();
                    assertThat(device.isInPlace())
                            .isEqualTo(!shown.tuningOfThreads().isEmpty());
                    requireChoices(
                            device.isInPlace() ? shown.tuningOfThreads() : shown.tuning(),
                            device.choices().all());
                });
    }

    /**
     * Initialises host ranks on identical hosts, and compares their plan and choices with those that the command shows.
     *
     * @param description the description of a host, with its ranks as {@code RANK0}, {@code RANK1}, …
     */
    private void requireShownOnHost(String description, int ranks, int hosts, Map<String, String> settings)
            throws Exception {
        TopologyReport shown = shown(ranked(description, ranks, 0), hosts, settings);
        List<Path> files = new ArrayList<>();
        for (int host = 0; host < hosts; host++) {
            files.add(Files.writeString(folder.resolve("host" + host), ranked(description, ranks, host)));
        }
        onRanks(
                ranks * hosts,
                rank -> config(settings)
                        .hostId("host" + rank / ranks)
                        .setting("JCCL_TOPO_FILE", files.get(rank / ranks).toString())
                        .build(),
                communicator -> {
                    requirePlan(shown.plan().orElseThrow(), communicator.host().plan());
                    requireChoices(shown.tuning(), communicator.host().choices());
                });
    }

    private static String ranked(String description, int ranks, int host) {
        String text = description;
        for (int rank = 0; rank < ranks; rank++) {
            text = text.replace("RANK" + rank, Integer.toString(host * ranks + rank));
        }
        return text;
    }

    private static CommunicatorConfig.Builder config(Map<String, String> settings) {
        CommunicatorConfig.Builder config =
                CommunicatorConfig.builder().timeout(LIMIT).initTimeout(LIMIT);
        settings.forEach(config::setting);
        return config;
    }

    private static Settings load(Map<String, String> settings) {
        return Settings.load(config(settings).build());
    }

    /** Returns the report that the command shows for {@code hosts} identical hosts. */
    private TopologyReport shown(String description, int hosts, Map<String, String> settings) throws IOException {
        Path file = Files.writeString(folder.resolve("shown.xml"), description);
        Settings loaded = load(settings);
        PlanningOptions options = PlanningOptions.of(loaded, HostCosts.of(loaded), Parts.expected(loaded));
        return TopologyReporter.report(
                ThisHost.request(Optional.of(file), 1, hosts, false, loaded, options), System::nanoTime);
    }

    private static void requirePlan(Plan shown, Plan used) {
        assertThat(used.size()).isEqualTo(shown.size());
        assertThat(used.channels()).isEqualTo(shown.channels());
        for (int channel = 0; channel < used.channels(); channel++) {
            assertThat(used.ring(channel)).isEqualTo(shown.ring(channel));
            for (int rank = 0; rank < used.size(); rank++) {
                assertThat(used.tree(channel, rank)).isEqualTo(shown.tree(channel, rank));
            }
        }
    }

    private static void requireChoices(List<TopologyReport.TuningRow> shown, ChoiceTable used) {
        assertThat(shown).hasSizeGreaterThan(100).allSatisfy(row -> {
            assertThat(used.choice(row.collective(), row.bytes()))
                    .as("%s of %d bytes", row.collective(), row.bytes())
                    .isEqualTo(row.choice());
            assertThat(used.predictedMicros(row.collective(), row.bytes())).isEqualTo(row.timeMicros());
        });
    }

    @FunctionalInterface
    private interface Check {
        void run(InitializedCommunicator communicator);
    }

    /** Initialises ranks as threads, runs {@code check} on the communicator of each, and frees the communicators. */
    private static void onRanks(int size, IntFunction<CommunicatorConfig> configs, Check check) throws Exception {
        UniqueId id = UniqueId.create(configs.apply(0));
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int mine = rank;
            tasks.add(() -> {
                InitializedCommunicator communicator =
                        CommunicatorInitializer.initialize(id, mine, size, configs.apply(mine));
                try {
                    check.run(communicator);
                } finally {
                    communicator.membership().close();
                    communicator.device().ifPresent(ConnectedDevice::destroy);
                    communicator.host().engine().destroy();
                }
                return null;
            });
        }
        ExecutorService threads = Executors.newFixedThreadPool(size);
        try {
            for (Future<Void> task : threads.invokeAll(tasks)) {
                task.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
