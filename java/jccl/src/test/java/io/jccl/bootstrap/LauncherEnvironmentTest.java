package io.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(20)
class LauncherEnvironmentTest {

    private static Map<String, String> env(String... pairs) {
        Map<String, String> env = new HashMap<>();
        for (String pair : pairs) {
            int equals = pair.indexOf('=');
            env.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        return env;
    }

    private static Launch.Address address(Launch launch) {
        return (Launch.Address) launch.rendezvous();
    }

    @Test
    void jcclsOwnVariables() {
        Launch launch = LauncherEnvironment.detect(
                env("JCCL_RANK=1", "JCCL_SIZE=4", "JCCL_LOCAL_RANK=0", "JCCL_RENDEZVOUS=host1:2900/feed"));
        assertThat(launch.launcher()).isEqualTo("jccl");
        assertThat(launch.rank()).isEqualTo(1);
        assertThat(launch.size()).isEqualTo(4);
        assertThat(launch.localRank()).isEqualTo(OptionalInt.of(0));
        assertThat(address(launch).host()).isEqualTo("host1");
        assertThat(address(launch).port()).isEqualTo(2900);
        assertThat(address(launch).guessable()).isFalse();
        assertThat(launch.toString()).as("goes into the log").doesNotContain("feed");
    }

    @Test
    void localRankMayBeMissing() {
        assertThat(LauncherEnvironment.detect(env("JCCL_RANK=0", "JCCL_SIZE=1", "JCCL_RENDEZVOUS=h:1"))
                        .localRank())
                .isEmpty();
    }

    @Test
    void anIndexedJobOfKubernetesGivesTheRank() {
        Launch launch = LauncherEnvironment.detect(
                env("JOB_COMPLETION_INDEX=2", "JCCL_SIZE=4", "JCCL_RENDEZVOUS=train-0.train:2900/feed"));
        assertThat(launch.launcher()).isEqualTo("kubernetes");
        assertThat(launch.rank()).isEqualTo(2);
        assertThat(launch.size()).isEqualTo(4);
        assertThat(address(launch).host()).isEqualTo("train-0.train");
    }

    @Test
    void thePodsOfAnotherIndexedJobAreNoLaunch() {
        assertThat(LauncherEnvironment.find(env("JOB_COMPLETION_INDEX=2"))).isEmpty();
    }

    @Test
    void jcclsOwnRankCountsBeforeThatOfKubernetes() {
        Launch launch = LauncherEnvironment.detect(
                env("JOB_COMPLETION_INDEX=2", "JCCL_RANK=3", "JCCL_SIZE=4", "JCCL_RENDEZVOUS=h:1"));
        assertThat(launch.rank()).isEqualTo(3);
    }

    @Test
    void torchrun() {
        Launch launch = LauncherEnvironment.detect(
                env("RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=1", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500"));
        assertThat(launch.launcher()).isEqualTo("torchrun");
        assertThat(address(launch).port()).isEqualTo(29500);
        assertThat(address(launch).guessable()).isTrue();
    }

    @Test
    void torchrunWhoseAgentHasThePortGivesTheNext() {
        Launch launch = LauncherEnvironment.detect(env(
                "RANK=3",
                "WORLD_SIZE=8",
                "MASTER_ADDR=10.0.0.1",
                "MASTER_PORT=29500",
                "TORCHELASTIC_USE_AGENT_STORE=True"));
        assertThat(address(launch).port()).isEqualTo(29501);
    }

    @Test
    void openMpiOnOneHostMeetsByAFileThatAllRanksNameAlike() {
        Map<String, String> zero = env(
                "OMPI_COMM_WORLD_RANK=0",
                "OMPI_COMM_WORLD_SIZE=2",
                "OMPI_COMM_WORLD_LOCAL_RANK=0",
                "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                "PMIX_NAMESPACE=1234@1",
                "TMPDIR=/var/tmp");
        Map<String, String> one = new HashMap<>(zero);
        one.put("OMPI_COMM_WORLD_RANK", "1");
        Map<String, String> other = new HashMap<>(zero);
        other.put("PMIX_NAMESPACE", "1235@1");
        Launch.SharedFile file =
                (Launch.SharedFile) LauncherEnvironment.detect(zero).rendezvous();
        assertThat(file.path().getParent()).isEqualTo(Path.of("/var/tmp"));
        assertThat(LauncherEnvironment.detect(one).rendezvous()).isEqualTo(file);
        assertThat(LauncherEnvironment.detect(other).rendezvous()).isNotEqualTo(file);
    }

    @Test
    void openMpiOnSeveralHostsNeedsARendezvous() {
        Map<String, String> env = env(
                "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=1");
        assertThatThrownBy(() -> LauncherEnvironment.detect(env))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("openmpi lacks JCCL_RENDEZVOUS");
        env.put("JCCL_RENDEZVOUS", "[fe80::1]:77");
        Launch launch = LauncherEnvironment.detect(env);
        assertThat(launch.launcher()).isEqualTo("openmpi");
        assertThat(address(launch).host()).isEqualTo("fe80::1");
    }

    @Test
    void openMpiInsideASlurmJobMeetsOnItsFirstHost() {
        Launch launch = LauncherEnvironment.detect(env(
                "OMPI_COMM_WORLD_RANK=5",
                "OMPI_COMM_WORLD_SIZE=8",
                "OMPI_COMM_WORLD_LOCAL_SIZE=4",
                "SLURM_JOB_ID=12",
                "SLURM_JOB_NODELIST=n[08-09]",
                "SLURM_PROCID=0",
                "SLURM_NTASKS=2"));
        assertThat(launch.launcher()).isEqualTo("openmpi");
        assertThat(launch.rank()).isEqualTo(5);
        assertThat(address(launch).host()).isEqualTo("n08");
    }

    @Test
    void pmi() {
        Launch launch = LauncherEnvironment.detect(
                env("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_PORT=localhost:4455"));
        assertThat(launch.launcher()).isEqualTo("pmi");
        assertThat(launch.rendezvous()).isInstanceOf(Launch.SharedFile.class);
    }

    @Test
    void slurm() {
        Map<String, String> env = env(
                "SLURM_PROCID=6",
                "SLURM_NTASKS=8",
                "SLURM_LOCALID=2",
                "SLURM_JOB_ID=991",
                "SLURM_STEP_ID=3",
                "SLURM_STEP_NODELIST=gpu[004-005,9],login");
        Launch launch = LauncherEnvironment.detect(env);
        assertThat(launch.launcher()).isEqualTo("slurm");
        assertThat(address(launch).host()).isEqualTo("gpu004");
        assertThat(address(launch).port()).isBetween(20_000, 29_999);
        env.put("SLURM_STEP_ID", "4");
        assertThat(address(LauncherEnvironment.detect(env))).isNotEqualTo(address(launch));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "4294967291", "4294967290"}) // none, a batch script's, an allocation's shell's
    void whatSlurmDidNotStartAsAStepIsNoRank(String step) {
        assertThat(LauncherEnvironment.find(env(
                        "SLURM_PROCID=0",
                        "SLURM_NTASKS=4",
                        "SLURM_JOB_ID=991",
                        "SLURM_JOB_NODELIST=gpu4",
                        "SLURM_STEP_ID=" + step)))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "node1|node1",
                "a,b|a",
                "n[3-7]|n3",
                "n[03,05]x|n03x",
                "r[1-2]c[4-9],z|r1c4",
                "h-1.example|h-1.example"
            })
    void firstNodes(String list, String first) {
        assertThat(LauncherEnvironment.firstNode(list)).isEqualTo(first);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "n[", "n[]", "n[a-b]", ",", "n;rm", "]"})
    void badNodeListsAreQuoted(String list) {
        assertThatThrownBy(() -> LauncherEnvironment.firstNode(list))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"" + list + "\"");
    }

    @Test
    void theFirstCompleteSetWins() {
        Map<String, String> env = env(
                "JCCL_RANK=0", "RANK=3", "WORLD_SIZE=8", "MASTER_ADDR=a", "MASTER_PORT=1", "PMI_RANK=1", "PMI_SIZE=2");
        assertThat(LauncherEnvironment.detect(env).launcher()).isEqualTo("torchrun");
    }

    @Test
    void whatIsMissingIsNamed() {
        assertThatThrownBy(() -> LauncherEnvironment.detect(env("JCCL_RANK=0", "WORLD_SIZE=2", "MASTER_PORT=3")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("jccl lacks JCCL_SIZE, JCCL_RENDEZVOUS")
                .hasMessageContaining("torchrun lacks RANK, MASTER_ADDR");
        assertThatThrownBy(() -> LauncherEnvironment.detect(env("SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0")))
                .hasMessageContaining("slurm lacks SLURM_JOB_ID, SLURM_STEP_NODELIST");
        assertThatThrownBy(() -> LauncherEnvironment.detect(env("JCCL_RANK=", "PATH=/bin")))
                .hasMessageContaining("no launcher's environment was found");
    }

    @ParameterizedTest
    @CsvSource({"2,2", "-1,2", "x,2", "0,0", "0,99999999", "0,1.5"})
    void badNumbersAreQuoted(String rank, String size) {
        assertThatThrownBy(() -> LauncherEnvironment.detect(
                        env("JCCL_RANK=" + rank, "JCCL_SIZE=" + size, "JCCL_RENDEZVOUS=h:1")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageMatching("JCCL_(RANK|SIZE)=\".*\": expected a number from .*");
    }

    @Test
    void rendezvousSyntax() {
        assertThat(LauncherEnvironment.parseRendezvous("file:/a/b")).isEqualTo(new Launch.SharedFile(Path.of("/a/b")));
        assertThat(LauncherEnvironment.parseRendezvous("file:///a/b"))
                .isEqualTo(new Launch.SharedFile(Path.of("/a/b")));
        assertThat(LauncherEnvironment.parseRendezvous("[::1]:5/s"))
                .isEqualTo(new Launch.Address("::1", 5, new Launch.Secret("s"), false));
        assertThat(LauncherEnvironment.parseRendezvous("h:65535"))
                .isEqualTo(new Launch.Address("h", 65535, new Launch.Secret("jccl h:65535"), true));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"h", ":5", "h:", "h:0", "h:65536", "h:x", "::1:5", "[::1:5", "[::1]", "h:5/", "file:a", "file:"})
    void badRendezvousAreQuoted(String text) {
        assertThatThrownBy(() -> LauncherEnvironment.parseRendezvous(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_RENDEZVOUS=\"")
                .hasMessageContaining("expected host:port");
    }

    @ParameterizedTest
    @ValueSource(strings = {"h:x/hush", "jccl1:hush"})
    void aSecretInABadRendezvousIsNotShown(String text) {
        assertThatThrownBy(() -> LauncherEnvironment.parseRendezvous(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContainingAny("hush");
    }
}
