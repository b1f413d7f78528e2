package io.jccl.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the values of variables with NCCL's names: no value that NCCL accepts makes a job fail. */
class NcclNamesTest {

    private static Settings load(Map<String, String> environment) {
        return Settings.load(CommunicatorConfig.defaults(), name -> null, environment);
    }

    private static String text(Settings settings, String name) {
        Setting<?> setting = Registry.all().stream()
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow();
        return settings.text(setting);
    }

    static Stream<NcclVariable> variables() {
        return NcclVariable.all().stream();
    }

    @ParameterizedTest
    @MethodSource("variables")
    void noValueOfAVariableOfNcclIsAnError(NcclVariable variable) {
        List<String> texts = new ArrayList<>(variable.texts());
        texts.addAll(List.of(variable.defaultText(), "", " ", "x", "\"1\"", "-1", "-2", "0x10", " 1 ", "1 # comment"));
        for (String text : texts) {
            Settings settings = load(Map.of(variable.name(), text));
            assertThat(settings.warnings())
                    .as("%s=%s", variable.name(), text)
                    .hasSizeLessThanOrEqualTo(1)
                    .allMatch(warning -> warning.startsWith(variable.name() + "=\""));
        }
    }

    @ParameterizedTest
    @MethodSource("variables")
    void theDefaultOfNcclCausesNoWarning(NcclVariable variable) {
        assertThat(load(Map.of(variable.name(), variable.defaultText())).warnings())
                .isEmpty();
    }

    @Test
    void allDefaultsOfNcclTogetherCauseNoWarning() {
        Map<String, String> environment = new HashMap<>();
        NcclVariable.all().forEach(variable -> environment.put(variable.name(), variable.defaultText()));

        assertThat(load(environment).warnings()).isEmpty();
    }

    @Test
    void aVariableIsEitherReadOrHasAReasonWhyNot() {
        List<String> read =
                Registry.all().stream().flatMap(one -> one.ncclNames().stream()).toList();
        List<String> without = variables()
                .filter(one -> one.reason().isEmpty())
                .map(NcclVariable::name)
                .toList();

        assertThat(without)
                .containsExactlyInAnyOrderElementsOf(read.stream().distinct().toList());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "NCCL_IB_PCI_RELAXED_ORDERING|2|JCCL_IB_PCI_RELAXED_ORDERING|1",
                "NCCL_IB_TC|-1|JCCL_IB_TC|0",
                "NCCL_IB_TC|0xa0|JCCL_IB_TC|160",
                "NCCL_IB_TC|010|JCCL_IB_TC|8",
                "NCCL_BUFFSIZE|0x400000|JCCL_BUFFSIZE|4M",
                "NCCL_BUFFSIZE|-2|JCCL_BUFFSIZE|2M, between GPUs 4M",
                "NCCL_MAX_CTAS|-2147483648|JCCL_MAX_NCHANNELS|0",
                "NCCL_P2P_LEVEL|99|JCCL_P2P_LEVEL|SYS",
                "NCCL_P2P_LEVEL|0x2|JCCL_P2P_LEVEL|PXB",
                "NCCL_SHM_DISABLE|2|JCCL_SHM_DISABLE|1",
                "NCCL_NVLS_ENABLE|1|JCCL_NVLS_ENABLE|2",
                "NCCL_NET_GDR_READ|-2|JCCL_NET_GDR_READ|''",
                "NCCL_NET|Socket|JCCL_IB_DISABLE|1",
                "NCCL_NET|Socket|JCCL_NET_PLUGIN|none",
                "NCCL_NET|ib|JCCL_NET_PLUGIN|none",
                "NCCL_NET|ib|JCCL_IB_DISABLE|0",
                "NCCL_NET|AWS Libfabric|JCCL_NET_PLUGIN|''",
                "NCCL_ALGO|^NVLSTree,PAT|JCCL_ALGO|auto",
                "NCCL_ALGO|^Tree|JCCL_ALGO|^tree",
                "NCCL_ALGO|allreduce:tree,ring;broadcast:ring|JCCL_ALGO|allreduce:tree,ring;broadcast:ring",
                "NCCL_ALGO|auto|JCCL_ALGO|auto",
                "NCCL_PROTO|^LL128;allreduce:LL128|JCCL_PROTO|^ll128;allreduce:ll128",
                "NCCL_SOCKET_IFNAME|eth0,,eth1,|JCCL_SOCKET_IFNAME|eth0,eth1",
                "NCCL_IB_HCA|^=mlx5_3:1|JCCL_IB_HCA|^=mlx5_3:1",
            })
    void aValueThatNcclAcceptsMeansTheSame(String name, String text, String setting, String used) {
        Settings settings = load(Map.of(name, text));

        assertThat(text(settings, setting)).isEqualTo(used);
        assertThat(settings.warnings())
                .filteredOn(warning -> !warning.contains("eth0,,"))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "NCCL_IB_RETRY_CNT|13|JCCL_IB_RETRY_CNT|7",
                "NCCL_IB_TIMEOUT|50|JCCL_IB_TIMEOUT|31",
                "NCCL_IB_TIMEOUT|abc|JCCL_IB_TIMEOUT|20",
                "NCCL_IB_TIMEOUT|22 s|JCCL_IB_TIMEOUT|22",
                "NCCL_IB_QPS_PER_CONNECTION|128|JCCL_IB_QPS_PER_CONNECTION|16",
                "NCCL_BUFFSIZE|1024|JCCL_BUFFSIZE|8K",
                "NCCL_BUFFSIZE|99999999999999999G|JCCL_BUFFSIZE|512M",
                "NCCL_NTHREADS|50|JCCL_NTHREADS|32",
                "NCCL_P2P_LEVEL|NODE|JCCL_P2P_LEVEL|the default",
                "NCCL_SHM_DISABLE|perhaps|JCCL_SHM_DISABLE|0",
                "NCCL_SOCKET_FAMILY|AF_UNIX|JCCL_SOCKET_FAMILY|the default",
                "NCCL_SOCKET_IFNAME|^lo,^docker|JCCL_SOCKET_IFNAME|^lo,docker",
                "NCCL_SOCKET_IFNAME|=eth0,=eth1|JCCL_SOCKET_IFNAME|=eth0,eth1",
                "NCCL_SOCKET_IFNAME|eth0,^docker|JCCL_SOCKET_IFNAME|eth0",
                "NCCL_SOCKET_IFNAME|^|JCCL_SOCKET_IFNAME|the default",
                "NCCL_IB_HCA|=mlx5_0:1,^mlx5_1|JCCL_IB_HCA|=mlx5_0:1",
                "NCCL_IB_HCA|=mlx5_0::0:0,mlx5_1:1:0:1|JCCL_IB_HCA|=mlx5_0,mlx5_1:1",
                "NCCL_ALGO|Ring,NVLSTree,PAT|JCCL_ALGO|ring",
                "NCCL_ALGO|NVLSTree,PAT|JCCL_ALGO|auto",
                "NCCL_ALGO|reducescatter:pat;allgather:pat,ring|JCCL_ALGO|allgather:ring",
                "NCCL_ALGO|nosuch:ring;allreduce:tree|JCCL_ALGO|allreduce:tree",
                "NCCL_ALGO|^ring,tree,direct,nvls,collnet|JCCL_ALGO|auto",
                "NCCL_PROTO|LL64|JCCL_PROTO|auto",
                "NCCL_THREAD_THRESHOLDS|8 8 64 x|JCCL_THREAD_THRESHOLDS|8 8 64",
            })
    void aValueThatJcclCannotUseCausesAWarningWithTheSubstitute(String name, String text, String setting, String used) {
        Settings settings = load(Map.of(name, text));

        assertThat(text(settings, setting).replaceFirst("^$", "the default")).startsWith(used);
        assertThat(settings.warnings())
                .singleElement()
                .asString()
                .startsWith(name + "=\"" + text + "\" (from environment): expected ")
                .endsWith("; " + used + " is used instead");
    }

    @Test
    void theNextNcclNameIsUsedIfTheFirstIsInvalid() {
        Settings settings = load(Map.of("NCCL_MAX_NCHANNELS", "many", "NCCL_MAX_CTAS", "4"));

        assertThat(settings.get(AlgorithmSettings.MAX_NCHANNELS)).isEqualTo(4);
        assertThat(settings.warnings()).singleElement().asString().endsWith("; 4 is used instead");
    }

    @Test
    void theUpperOfContradictoryNcclBoundsWins() {
        Settings both = load(Map.of("NCCL_MIN_NCHANNELS", "8", "NCCL_MAX_CTAS", "4"));
        Settings low = load(Map.of("JCCL_MIN_NCHANNELS", "8", "NCCL_MAX_NCHANNELS", "4"));

        assertThat(text(both, "JCCL_MIN_NCHANNELS")).isEqualTo("4");
        assertThat(both.warnings())
                .containsExactly("NCCL_MIN_NCHANNELS=\"8\" (from environment): expected at most NCCL_MAX_CTAS=4; 4 is"
                        + " used instead");
        assertThat(text(low, "JCCL_MAX_NCHANNELS")).isEqualTo("8");
        assertThat(low.warnings()).singleElement().asString().contains("expected at least JCCL_MIN_NCHANNELS=8");
    }

    @Test
    void tooManyTcpConnectionsUnderNcclNamesAreReduced() {
        Settings each = load(Map.of("NCCL_SOCKET_NTHREADS", "8", "NCCL_NSOCKS_PERTHREAD", "16"));
        Settings threads = load(Map.of("NCCL_SOCKET_NTHREADS", "16", "JCCL_NSOCKS_PERTHREAD", "16"));

        NetworkSettings.checkStreams(each);
        NetworkSettings.checkStreams(threads);
        assertThat(text(each, "JCCL_NSOCKS_PERTHREAD")).isEqualTo("8");
        assertThat(text(threads, "JCCL_SOCKET_NTHREADS")).isEqualTo("4");
        assertThat(each.warnings()).hasSize(1);
    }

    @Test
    void aJcclNameIsCheckedStrictlyAndHidesTheNcclName() {
        assertThatThrownBy(() -> load(Map.of("JCCL_IB_RETRY_CNT", "13", "NCCL_IB_RETRY_CNT", "6")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("JCCL_IB_RETRY_CNT=\"13\" (from environment): expected");
        assertThat(load(Map.of("JCCL_IB_RETRY_CNT", "5", "NCCL_IB_RETRY_CNT", "13"))
                        .warnings())
                .isEmpty();
    }

    @Test
    void aConfigurationFileOfNcclCausesAWarning() {
        assertThat(load(Map.of("NCCL_CONF_FILE", "/etc/site.conf")).warnings())
                .containsExactly(
                        "NCCL_CONF_FILE=\"/etc/site.conf\" (from environment): JCCL reads no configuration files"
                                + " of NCCL; set what it says in the environment");
    }
}
