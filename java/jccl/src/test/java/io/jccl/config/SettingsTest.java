package io.jccl.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {

    private static Settings fromEnvironment(Map<String, String> environment) {
        return Settings.load(CommunicatorConfig.defaults(), name -> null, environment);
    }

    @Test
    void everySettingHasItsDefaultIfNothingIsSet() {
        Settings settings = fromEnvironment(Map.of());

        assertThat(Registry.all()).allSatisfy(setting -> {
            assertThat(settings.<Object>get(cast(setting))).isEqualTo(setting.defaultValue());
            assertThat(settings.origin(setting).source()).isEqualTo(Origin.Source.DEFAULT);
        });
        assertThat(settings.warnings()).isEmpty();
    }

    @Test
    void gpusHaveTheirOwnDefaultsIfNothingIsSet() {
        Settings unset = fromEnvironment(Map.of());
        assertThat(unset.getForDevices(MemorySettings.BUFFSIZE)).isEqualTo(4 << 20);
        assertThat(unset.getForDevices(MemorySettings.LL_BUFFSIZE)).isEqualTo(512 << 10);
        assertThat(unset.getForDevices(MemorySettings.LL128_BUFFSIZE)).isEqualTo(4800 << 10);
        assertThat(unset.text(MemorySettings.BUFFSIZE)).isEqualTo("2M, between GPUs 4M");
        assertThat(unset.getForDevices(TimeSettings.TIMEOUT)).isEqualTo(unset.get(TimeSettings.TIMEOUT));

        Settings set = fromEnvironment(Map.of("NCCL_BUFFSIZE", "2M"));
        assertThat(set.getForDevices(MemorySettings.BUFFSIZE)).isEqualTo(2 << 20);
        assertThat(set.text(MemorySettings.BUFFSIZE)).isEqualTo("2M");
    }

    @Test
    void everyDefaultIsAValueThatItsTypeAccepts() {
        assertThat(Registry.all())
                .filteredOn(setting -> !setting.defaultText().isEmpty())
                .isNotEmpty()
                .allSatisfy(setting ->
                        assertThat(setting.type().parse(setting.defaultText())).isEqualTo(setting.defaultValue()));
    }

    @Test
    void listsOfNumbersAreReadAsNcclWritesThem() {
        Settings settings = fromEnvironment(Map.of("NCCL_THREAD_THRESHOLDS", "-2 8, 64"));

        assertThat(settings.get(AlgorithmSettings.THREAD_THRESHOLDS)).containsExactly(-2, 8, 64);
        assertThat(settings.text(AlgorithmSettings.THREAD_THRESHOLDS)).isEqualTo("-2 8 64");
        for (String bad : List.of("8 x", "-3", "1 2 3 4 5 6 7", ",")) {
            assertThatThrownBy(() -> fromEnvironment(Map.of("JCCL_THREAD_THRESHOLDS", bad)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("JCCL_THREAD_THRESHOLDS=\"" + bad)
                    .hasMessageContaining("up to 6 whole numbers");
        }
    }

    @Test
    void networkPluginsAreTriedInOrderUnlessAnotherTransportIsAskedFor() {
        assertThat(netPlugins(Map.of())).containsExactly("");
        assertThat(netPlugins(Map.of("NCCL_NET_PLUGIN", "ofi"))).containsExactly("ofi");
        assertThat(netPlugins(Map.of("JCCL_NET_PLUGIN", " a , /b/libc.so,"))).containsExactly("a", "/b/libc.so");
        assertThat(netPlugins(Map.of("JCCL_NET_PLUGIN", "None"))).isEmpty();
        assertThat(netPlugins(Map.of("JCCL_NET_PLUGIN", "ofi", "JCCL_TRANSPORT", "plugin")))
                .containsExactly("ofi");
        assertThat(netPlugins(Map.of("JCCL_NET_PLUGIN", "ofi", "JCCL_TRANSPORT", "socket")))
                .isEmpty();
    }

    private static List<String> netPlugins(Map<String, String> environment) {
        return NetworkSettings.netPlugins(Settings.load(CommunicatorConfig.defaults(), name -> null, environment));
    }

    @Test
    void tooManyTcpConnectionsAreRefused() {
        NetworkSettings.checkStreams(
                fromEnvironment(Map.of("NCCL_SOCKET_NTHREADS", "4", "NCCL_NSOCKS_PERTHREAD", "16")));
        Settings tooMany = fromEnvironment(Map.of("JCCL_SOCKET_NTHREADS", "5", "JCCL_NSOCKS_PERTHREAD", "16"));
        assertThatThrownBy(() -> NetworkSettings.checkStreams(tooMany))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_SOCKET_NTHREADS=5")
                .hasMessageContaining("JCCL_NSOCKS_PERTHREAD=16")
                .hasMessageContaining("at most 64");
    }

    @Test
    void theFirstAliasThatIsSetWins() {
        Settings rings = fromEnvironment(Map.of("NCCL_MIN_NRINGS", "3", "NCCL_MAX_CTAS", "9"));
        Settings all = fromEnvironment(Map.of("NCCL_MIN_NRINGS", "3", "NCCL_MIN_CTAS", "4", "NCCL_MIN_NCHANNELS", "5"));

        assertThat(rings.get(AlgorithmSettings.MIN_NCHANNELS)).isEqualTo(3);
        assertThat(rings.origin(AlgorithmSettings.MIN_NCHANNELS))
                .isEqualTo(new Origin(Origin.Source.ENVIRONMENT, "NCCL_MIN_NRINGS"));
        assertThat(rings.get(AlgorithmSettings.MAX_NCHANNELS)).isEqualTo(9);
        assertThat(all.get(AlgorithmSettings.MIN_NCHANNELS)).isEqualTo(5);
    }

    @Test
    void theOrderOfPrecedenceIsApplicationPropertyEnvironmentAlias() {
        Map<String, String> alias = Map.of("NCCL_BUFFSIZE", "1M");
        Map<String, String> both = Map.of("NCCL_BUFFSIZE", "1M", "JCCL_BUFFSIZE", "2M");
        CommunicatorConfig config =
                CommunicatorConfig.builder().setting("JCCL_BUFFSIZE", "4M").build();

        Settings fromAlias = fromEnvironment(alias);
        Settings fromOwn = fromEnvironment(both);
        Settings fromProperty =
                Settings.load(CommunicatorConfig.defaults(), name -> name.equals("JCCL_BUFFSIZE") ? "3M" : null, both);
        Settings fromConfig = Settings.load(config, name -> name.equals("JCCL_BUFFSIZE") ? "3M" : null, both);

        assertThat(fromAlias.text(MemorySettings.BUFFSIZE)).isEqualTo("1M");
        assertThat(fromAlias.origin(MemorySettings.BUFFSIZE))
                .isEqualTo(new Origin(Origin.Source.ENVIRONMENT, "NCCL_BUFFSIZE"));
        assertThat(fromOwn.text(MemorySettings.BUFFSIZE)).isEqualTo("2M");
        assertThat(fromOwn.origin(MemorySettings.BUFFSIZE))
                .isEqualTo(new Origin(Origin.Source.ENVIRONMENT, "JCCL_BUFFSIZE"));
        assertThat(fromProperty.text(MemorySettings.BUFFSIZE)).isEqualTo("3M");
        assertThat(fromProperty.origin(MemorySettings.BUFFSIZE).source()).isEqualTo(Origin.Source.PROPERTY);
        assertThat(fromConfig.text(MemorySettings.BUFFSIZE)).isEqualTo("4M");
        assertThat(fromConfig.origin(MemorySettings.BUFFSIZE).source()).isEqualTo(Origin.Source.CONFIG);
    }

    @Test
    void theTypedValuesOfTheApplicationArriveUnchanged() {
        CommunicatorConfig config = CommunicatorConfig.builder()
                .timeout(Duration.ofMillis(1501))
                .initTimeout(Duration.ofSeconds(7))
                .hostId("north")
                .algorithm(Algorithm.TREE)
                .transport(TransportKind.SHM)
                .channels(3)
                .build();

        Settings settings = Settings.load(config, name -> null, Map.of("JCCL_TIMEOUT", "9s"));

        assertThat(settings.get(TimeSettings.TIMEOUT)).isEqualTo(Duration.ofMillis(1501));
        assertThat(settings.get(TimeSettings.INIT_TIMEOUT)).isEqualTo(Duration.ofSeconds(7));
        assertThat(settings.get(LaunchSettings.HOST_ID)).contains("north");
        assertThat(settings.get(AlgorithmSettings.ALGO)).isEqualTo("tree");
        assertThat(settings.get(TransportSettings.TRANSPORT)).contains(TransportKind.SHM);
        assertThat(settings.get(AlgorithmSettings.MIN_NCHANNELS)).isEqualTo(3);
        assertThat(settings.get(AlgorithmSettings.MAX_NCHANNELS)).isEqualTo(3);
    }

    @ParameterizedTest
    @CsvSource({"65536,65536", "64K,65536", "64k,65536", "1MiB,1048576", "2 M,2097152", "8KB,8192"})
    void sizesHaveBinarySuffixes(String text, int bytes) {
        assertThat(fromEnvironment(Map.of("JCCL_BUFFSIZE", text)).get(MemorySettings.BUFFSIZE))
                .isEqualTo(bytes);
    }

    @ParameterizedTest
    @CsvSource({"30,30000", "1.5,1500", "250ms,250", "2 min,120000", "10S,10000", "1h,3600000"})
    void timesAreSecondsOrHaveAUnit(String text, long millis) {
        assertThat(fromEnvironment(Map.of("JCCL_TIMEOUT", text)).get(TimeSettings.TIMEOUT))
                .hasMillis(millis);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "JCCL_TIMEOUT;soon;expected a time from 1ms to 8760h: seconds, or a number with ms, s, min or h",
                "JCCL_TIMEOUT;0;expected a time from 1ms",
                "JCCL_BUFFSIZE;1;expected a number of bytes from 8K to 512M",
                "JCCL_BUFFSIZE;99999999999999999G;expected a number of bytes from 8K to 512M",
                "JCCL_MAX_NCHANNELS;65;expected a whole number from 0 to 64",
                "JCCL_MAX_NCHANNELS;two;expected a whole number from 0 to 64",
                "JCCL_TRANSPORT;pigeon;expected one of auto, p2p, shm, plugin, ib, socket",
                "JCCL_ALGO;ring,star;expected auto, or some of ring,tree,direct",
                "JCCL_ALGO;^;expected auto, or some of ring,tree,direct",
                "JCCL_SHM_DISABLE;perhaps;expected 1 or 0",
                "JCCL_SOCKET_FAMILY;AF_UNIX;expected one of AF_INET, AF_INET6"
            })
    void aBadValueIsAnErrorThatQuotesIt(String name, String value, String expected) {
        assertThatThrownBy(() -> fromEnvironment(Map.of(name, value)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(name + "=\"" + value + "\" (from environment): ")
                .hasMessageContaining(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "auto|''",
                "Ring|ring",
                "^Tree|^tree",
                "ring, tree|ring,tree",
                "ring;all_reduce:tree|ring;all_reduce:tree"
            })
    void algorithmsAreAListOrAnExclusion(String text, String normal) {
        assertThat(fromEnvironment(Map.of("NCCL_ALGO", text)).get(AlgorithmSettings.ALGO))
                .isEqualTo(normal);
    }

    @Test
    void anEmptyValueCountsAsNotSet() {
        assertThat(fromEnvironment(Map.of("JCCL_TIMEOUT", " "))
                        .origin(TimeSettings.TIMEOUT)
                        .source())
                .isEqualTo(Origin.Source.DEFAULT);
    }

    @Test
    void anUnknownNameInTheEnvironmentIsAWarningWithTheNearestName() {
        Settings settings = fromEnvironment(Map.of("JCCL_BUFSIZE", "1M", "JCCL_QWERTZUIOP", "1", "NCCL_FOO", "1"));

        assertThat(settings.warnings())
                .containsExactly(
                        "JCCL_BUFSIZE (from environment) is no setting and is ignored; did you mean JCCL_BUFFSIZE?",
                        "JCCL_QWERTZUIOP (from environment) is no setting and is ignored; `jccl env` lists all settings");
    }

    @Test
    void aFormerNameWorksEverywhereAndIsAWarning() {
        CommunicatorConfig config =
                CommunicatorConfig.builder().setting("JCCL_SPREAD_RANKS", "0").build();
        Map<String, String> properties = Map.of("JCCL_GPU_STAGED", "on");
        Map<String, String> environment =
                Map.of("JCCL_GPU_STAGED_BUFFSIZE", "1M", "JCCL_RANK_PLACEMENT", "1", "JCCL_HOST_COSTS", "/costs");

        Settings settings = Settings.load(config, properties::get, environment);

        assertThat(settings.get(TimeSettings.RANK_PLACEMENT)).isFalse();
        assertThat(settings.get(TransportSettings.GPU_HOST_STAGING)).isEqualTo("on");
        assertThat(settings.get(MemorySettings.GPU_HOST_STAGING_BUFFSIZE)).isEqualTo(1 << 20);
        assertThat(settings.get(AlgorithmSettings.TUNING_PROFILE)).contains(Path.of("/costs"));
        assertThat(settings.warnings())
                .containsExactlyInAnyOrder(
                        "JCCL_SPREAD_RANKS (from CommunicatorConfig) has the name JCCL_RANK_PLACEMENT now; rename it",
                        "JCCL_GPU_STAGED (from system property) has the name JCCL_GPU_HOST_STAGING now; rename it",
                        "JCCL_GPU_STAGED_BUFFSIZE (from environment) has the name JCCL_GPU_HOST_STAGING_BUFFSIZE now;"
                                + " rename it",
                        "JCCL_HOST_COSTS (from environment) has the name JCCL_TUNING_PROFILE now; rename it");
    }

    @Test
    void theCurrentNameTakesPrecedenceOverTheFormerName() {
        Settings settings = fromEnvironment(Map.of("JCCL_GPU_STAGED", "on", "JCCL_GPU_HOST_STAGING", "off"));

        assertThat(settings.get(TransportSettings.GPU_HOST_STAGING)).isEqualTo("off");
        assertThat(settings.warnings()).isEmpty();
    }

    @Test
    void anUnknownNameFromTheApplicationIsAnError() {
        CommunicatorConfig config =
                CommunicatorConfig.builder().setting("JCCL_TIMEOTU", "1").build();

        assertThatThrownBy(() -> Settings.load(config, name -> null, Map.of()))
                .hasMessage("JCCL_TIMEOTU (from CommunicatorConfig): expected the name of a setting; did you mean"
                        + " JCCL_TIMEOUT?");
    }

    @Test
    void boundsThatContradictEachOtherAreAnErrorThatNamesBoth() {
        assertThatThrownBy(() -> fromEnvironment(Map.of("JCCL_MIN_NCHANNELS", "8", "JCCL_MAX_NCHANNELS", "4")))
                .hasMessage("JCCL_MIN_NCHANNELS=8 (from environment) and JCCL_MAX_NCHANNELS=4 (from environment):"
                        + " expected the first to be at most the second");
        assertThatThrownBy(() -> fromEnvironment(Map.of("JCCL_HEARTBEAT_TIMEOUT", "900ms")))
                .hasMessage("JCCL_HEARTBEAT_INTERVAL=500ms (from default) and JCCL_HEARTBEAT_TIMEOUT=900ms (from"
                        + " environment): expected the second to be at least twice the first");
    }

    @ParameterizedTest
    @CsvSource({"abc,abc,0", "abc,abd,1", "abc,acb,1", "abc,ab,1", "abc,'',3", "kitten,sitting,3"})
    void editsAreInsertionsDeletionsReplacementsAndSwaps(String a, String b, int edits) {
        assertThat(NearestName.edits(a, b)).isEqualTo(edits);
        assertThat(NearestName.edits(b, a)).isEqualTo(edits);
    }

    @SuppressWarnings("unchecked")
    private static Setting<Object> cast(Setting<?> setting) {
        return (Setting<Object>) setting;
    }
}
