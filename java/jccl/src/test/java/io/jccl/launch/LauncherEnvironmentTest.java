package io.jccl.launch;

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
    void jcclVariablesDescribeALaunch() {
        Launch launch = LauncherEnvironment.detect(
                env("JCCL_RANK=1", "JCCL_SIZE=4", "JCCL_LOCAL_RANK=0", "JCCL_RENDEZVOUS=host1:2900/feed"));
        assertThat(launch.launcher()).isEqualTo("jccl");
        assertThat(launch.rank()).isEqualTo(1);
        assertThat(launch.size()).isEqualTo(4);
        assertThat(launch.localRank()).isEqualTo(OptionalInt.of(0));
        assertThat(address(launch).host()).isEqualTo("host1");
        assertThat(address(launch).port()).isEqualTo(2900);
        assertThat(address(launch).guessable()).isFalse();
        assertThat(launch.toString()).as("text for the log").doesNotContain("feed");
    }

    @Test
    void processWithoutALaunchersVariablesIsAlone() {
        LauncherEnvironment.requireNone(env());
        LauncherEnvironment.requireNone(
                env("SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_NTASKS_PER_NODE=2", "JCCL_DEBUG=info"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "JCCL_RENDEZVOUS=h:1/hush",
                "JCCL_LOCAL_RANK=0",
                "JOB_COMPLETION_INDEX=3",
                "LOCAL_RANK=1",
                "OMPI_COMM_WORLD_LOCAL_SIZE=2"
            })
    void anIncompleteSetOfVariablesIsAnError(String variable) {
        assertThat(LauncherEnvironment.find(env(variable))).isEmpty();
        assertThatThrownBy(() -> LauncherEnvironment.requireNone(env(variable)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining(
                        "the launcher's environment is incomplete: " + variable.replaceFirst("=.*", "") + " is set")
                .hasMessageNotContaining("hush");
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
    void anIndexedJobWithoutJcclVariablesIsNoLaunch() {
        assertThat(LauncherEnvironment.find(env("JOB_COMPLETION_INDEX=2"))).isEmpty();
    }

    @Test
    void jcclRankTakesPrecedenceOverTheIndexOfKubernetes() {
        Launch launch = LauncherEnvironment.detect(
                env("JOB_COMPLETION_INDEX=2", "JCCL_RANK=3", "JCCL_SIZE=4", "JCCL_RENDEZVOUS=h:1"));
        assertThat(launch.rank()).isEqualTo(3);
    }

    @Test
    void torchrunVariablesDescribeALaunch() {
        Launch launch = LauncherEnvironment.detect(
                env("RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=1", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500"));
        assertThat(launch.launcher()).isEqualTo("torchrun");
        assertThat(address(launch).port()).isEqualTo(29500);
        assertThat(address(launch).guessable()).isTrue();
    }

    @Test
    void ranksUseTheNextPortIfTorchrunsAgentUsesTheMasterPort() {
        Launch launch = LauncherEnvironment.detect(env(
                "RANK=3",
                "WORLD_SIZE=8",
                "MASTER_ADDR=10.0.0.1",
                "MASTER_PORT=29500",
                "TORCHELASTIC_USE_AGENT_STORE=True"));
        assertThat(address(launch).port()).isEqualTo(29501);
    }

    /** Each torchrun agent counts its own restarts, and spells rank 0's host as the agent's command line does. */
    @ParameterizedTest
    @CsvSource({"nodea,NodeA.example", "nodea,10.77.0.1", "localhost,nodea", "127.0.0.1,nodea."})
    void torchrunRanksOfAllNodesDeriveTheSameSecretAndPort(String atZero, String atOne) {
        Launch.Address zero = address(LauncherEnvironment.detect(torchrunNode(0, atZero, 0)));
        Launch.Address one = address(LauncherEnvironment.detect(torchrunNode(1, atOne, 3)));
        assertThat(one.secret()).isEqualTo(zero.secret());
        assertThat(one.port()).isEqualTo(zero.port());
        assertThat(zero.onlyLoopback()).as("ranks are on two hosts").isEmpty();
        Map<String, String> other = torchrunNode(1, atOne, 0);
        other.put("TORCHELASTIC_RUN_ID", "another");
        assertThat(address(LauncherEnvironment.detect(other)).secret()).isNotEqualTo(zero.secret());
    }

    private static Map<String, String> torchrunNode(int rank, String address, int restarts) {
        return env(
                "RANK=" + rank,
                "WORLD_SIZE=2",
                "LOCAL_RANK=0",
                "LOCAL_WORLD_SIZE=1",
                "MASTER_ADDR=" + address,
                "MASTER_PORT=29500",
                "TORCHELASTIC_RUN_ID=run7",
                "TORCHELASTIC_USE_AGENT_STORE=True",
                "TORCHELASTIC_RESTART_COUNT=" + restarts);
    }

    /** Kubeflow's operator sets localhost as address for the master only, and sets no local size. */
    @Test
    void theMasterOfAPyTorchJobListensForOtherHosts() {
        Map<String, String> env = env("RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=localhost", "MASTER_PORT=23456");
        assertThat(address(LauncherEnvironment.detect(env)).onlyLoopback()).isEmpty();
        env.put("LOCAL_WORLD_SIZE", "2");
        assertThat(address(LauncherEnvironment.detect(env)).onlyLoopback()).isPresent();
    }

    @Test
    void kubeflowTrainerStartsAProcessOnEachNode() {
        Map<String, String> env = env(
                "PET_NNODES=4",
                "PET_NPROC_PER_NODE=auto",
                "PET_NODE_RANK=3",
                "PET_MASTER_ADDR=train-node-0-0.train",
                "PET_MASTER_PORT=29400",
                "JOB_COMPLETION_INDEX=3");
        Launch launch = LauncherEnvironment.detect(env);
        assertThat(launch.launcher()).isEqualTo("kubeflow");
        assertThat(launch.rank()).isEqualTo(3);
        assertThat(launch.size()).isEqualTo(4);
        assertThat(address(launch).host()).isEqualTo("train-node-0-0.train");
        assertThat(address(launch).port()).isEqualTo(29_400);
        assertThat(address(launch).guessable()).isTrue();
        assertThat(OuterLauncher.ofSeveral(env)).containsExactly("PET_NODE_RANK=3", "PET_NNODES=4");
    }

    @Test
    void torchrunInsideKubeflowTrainerIsDetectedAsTorchrun() {
        Map<String, String> env = env(
                "PET_NNODES=2",
                "PET_NODE_RANK=1",
                "PET_MASTER_ADDR=a",
                "PET_MASTER_PORT=29400",
                "RANK=5",
                "WORLD_SIZE=8",
                "MASTER_ADDR=a",
                "MASTER_PORT=29500");
        assertThat(LauncherEnvironment.detect(env).launcher()).isEqualTo("torchrun");
    }

    @Test
    void optionsOfTorchrunInTheEnvironmentAreNoLauncher() {
        assertThat(LauncherEnvironment.find(env("PET_NNODES=1:4"))).isEmpty();
    }

    @Test
    void kubeflowTrainerWithoutAnAddressIsIncomplete() {
        assertThatThrownBy(() -> LauncherEnvironment.find(env("PET_NNODES=4", "PET_NODE_RANK=1")))
                .hasMessageContaining("kubeflow lacks PET_MASTER_ADDR, PET_MASTER_PORT");
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:1/s,true",
        "LocalHost.:1/s,true",
        "127.0.0.1:1/s,true",
        "127.1.2.3:1,true",
        "[::1]:1/s,true",
        "nodea:1/s,false",
        "localhost.example:1/s,false",
        "10.0.0.1:1/s,false",
        "[fd00::1]:1,false"
    })
    void onlyALiteralLoopbackAddressOrLocalhostListensOnLoopback(String rendezvous, boolean onlyLoopback) {
        Launch.Address address = (Launch.Address) LauncherEnvironment.parseRendezvous(rendezvous);
        assertThat(address.onlyLoopback().isPresent()).isEqualTo(onlyLoopback);
    }

    @Test
    void aDefaultSecretDoesNotDependOnTheSpellingOfTheHost() {
        assertThat(address("node1.example:2900").secret())
                .isEqualTo(address("node1:2900").secret())
                .isEqualTo(address("NODE1.:2900").secret())
                .isEqualTo(address("[fe80::1%eth0]:2900").secret())
                .isNotEqualTo(address("node1:2901").secret());
    }

    private static Launch.Address address(String rendezvous) {
        return (Launch.Address) LauncherEnvironment.parseRendezvous(rendezvous);
    }

    @Test
    void openMpiRanksOfOneHostMeetByTheSameFile() {
        Map<String, String> zero = env(
                "OMPI_COMM_WORLD_RANK=0",
                "OMPI_COMM_WORLD_SIZE=2",
                "OMPI_COMM_WORLD_LOCAL_RANK=0",
                "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                "PMIX_NAMESPACE=1234@1",
                "TMPDIR=/var/tmp/rank0",
                "USER=root");
        Map<String, String> one = new HashMap<>(zero);
        one.put("OMPI_COMM_WORLD_RANK", "1");
        one.put("TMPDIR", "/var/tmp/rank1");
        one.put("XDG_RUNTIME_DIR", "/run/user/1000");
        one.put("USER", "hadoop");
        Map<String, String> other = new HashMap<>(zero);
        other.put("PMIX_NAMESPACE", "1235@1");
        Launch.SharedFile file =
                (Launch.SharedFile) LauncherEnvironment.detect(zero).rendezvous();
        assertThat(file.path().getParent()).isEqualTo(Path.of("/tmp"));
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

    /** mpirun itself starts rank 0, in the batch script. Its daemons, on the other hosts only, are started by srun. */
    @Test
    void openMpiRanksInAndOutsideOfASlurmStepUseTheSameRendezvous() {
        Map<String, String> job = env(
                "OMPI_COMM_WORLD_SIZE=3",
                "OMPI_COMM_WORLD_LOCAL_SIZE=1",
                "PMIX_NAMESPACE=prterun-n1-4711@1",
                "SLURM_JOB_ID=12",
                "SLURM_JOB_NODELIST=n[1-3]");
        Launch.Address zero = address(LauncherEnvironment.detect(
                with(job, "OMPI_COMM_WORLD_RANK=0", "SLURM_PROCID=0", "SLURM_NTASKS=3", "SLURM_NODELIST=n[1-3]")));
        Launch.Address two = address(LauncherEnvironment.detect(with(
                job,
                "OMPI_COMM_WORLD_RANK=2",
                "SLURM_PROCID=1",
                "SLURM_NTASKS=2",
                "SLURM_STEP_ID=4",
                "SLURM_NODELIST=n[2-3]",
                "SLURM_STEP_NODELIST=n[2-3]")));
        assertThat(two.hosts()).isEqualTo(zero.hosts()).containsExactly("n1", "n2", "n3");
        assertThat(two.secret()).isEqualTo(zero.secret());
        assertThat(two.port()).isEqualTo(zero.port());
        Launch.Address other = address(
                LauncherEnvironment.detect(with(job, "OMPI_COMM_WORLD_RANK=2", "PMIX_NAMESPACE=prterun-n1-4712@1")));
        assertThat(other.secret()).as("another mpirun of the job").isNotEqualTo(zero.secret());
    }

    private static Map<String, String> with(Map<String, String> env, String... more) {
        Map<String, String> all = new HashMap<>(env);
        all.putAll(env(more));
        return all;
    }

    /**
     * Hydra's daemons run in one Slurm step, except perhaps the daemon on Hydra's own host. Each daemon has its own
     * port.
     */
    @Test
    void hydraRanksInAndOutsideOfASlurmStepUseTheSameRendezvous() {
        Map<String, String> job = env(
                "PMI_SIZE=4",
                "MPI_LOCALNRANKS=2",
                "SLURM_JOBID=12",
                "SLURM_NODELIST=n1,n2",
                "SLURM_JOB_NODELIST=n1,n2");
        Launch.Address zero =
                address(LauncherEnvironment.detect(with(job, "PMI_RANK=0", "MPI_LOCALRANKID=0", "PMI_PORT=n1:4455")));
        Launch.Address three = address(LauncherEnvironment.detect(with(
                job,
                "PMI_RANK=3",
                "MPI_LOCALRANKID=1",
                "PMI_PORT=n2:3344",
                "SLURM_STEP_ID=0",
                "SLURM_STEP_NODELIST=n2")));
        assertThat(three).isEqualTo(zero);
    }

    /** Two Hydra launches can run at once on different hosts of a job, and no variable identifies a launch. */
    @Test
    void hydraOnOneHostOfASlurmJobMeetsOnLoopback() {
        Launch.Address here = address(LauncherEnvironment.detect(
                env("PMI_RANK=0", "PMI_SIZE=2", "MPI_LOCALNRANKS=2", "SLURM_JOB_ID=12", "SLURM_JOB_NODELIST=n[1-9]")));
        assertThat(here.hosts()).containsExactly("localhost");
        assertThat(here.onlyLoopback()).isPresent();
    }

    /**
     * Each component of the job has its own job id. Either one list contains the nodes of all components, or each
     * component has a list of its own nodes.
     */
    @Test
    void aHeterogeneousJobOfSlurmMeetsOnAnyOfItsHosts() {
        Map<String, String> step = env("SLURM_NTASKS=4", "SLURM_STEP_ID=0", "SLURM_HET_JOB_ID=42");
        Launch.Address zero = address(LauncherEnvironment.detect(
                with(step, "SLURM_PROCID=0", "SLURM_JOB_ID=42", "SLURM_STEP_NODELIST=a1", "SLURM_JOB_NODELIST=a1")));
        Launch.Address three = address(LauncherEnvironment.detect(with(
                step,
                "SLURM_PROCID=3",
                "SLURM_JOB_ID=43",
                "SLURM_STEP_NODELIST=b[1-2]",
                "SLURM_JOB_NODELIST_HET_GROUP_0=a1",
                "SLURM_JOB_NODELIST_HET_GROUP_1=b[1-2]")));
        assertThat(three.hosts()).contains("a1", "b1", "b2");
        assertThat(three.secret()).isEqualTo(zero.secret());
        assertThat(three.port()).isEqualTo(zero.port());
    }

    @Test
    void pmiVariablesDescribeALaunch() {
        Launch launch = LauncherEnvironment.detect(
                env("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_PORT=localhost:4455"));
        assertThat(launch.launcher()).isEqualTo("pmi");
        assertThat(launch.rendezvous()).isInstanceOf(Launch.SharedFile.class);
    }

    @Test
    void slurmVariablesDescribeALaunch() {
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
    // The step ids of a process without a step, of a batch script, and of an allocation's shell.
    @ValueSource(strings = {"", "4294967291", "4294967290"})
    void aProcessOutsideOfASlurmStepIsNoRank(String step) {
        assertThat(LauncherEnvironment.find(env(
                        "SLURM_PROCID=0",
                        "SLURM_NTASKS=4",
                        "SLURM_JOB_ID=991",
                        "SLURM_JOB_NODELIST=gpu4",
                        "SLURM_STEP_ID=" + step)))
                .isEmpty();
    }

    @Test
    void theFirstCompleteSetWins() {
        Map<String, String> env = env(
                "JCCL_RANK=0", "RANK=3", "WORLD_SIZE=8", "MASTER_ADDR=a", "MASTER_PORT=1", "PMI_RANK=1", "PMI_SIZE=2");
        assertThat(LauncherEnvironment.detect(env).launcher()).isEqualTo("torchrun");
    }

    @Test
    void missingVariablesAreNamed() {
        assertThatThrownBy(() -> LauncherEnvironment.detect(env("JCCL_RANK=0", "WORLD_SIZE=2", "MASTER_PORT=3")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("jccl lacks JCCL_SIZE, JCCL_RENDEZVOUS")
                .hasMessageContaining("torchrun lacks RANK, MASTER_ADDR");
        assertThatThrownBy(() -> LauncherEnvironment.detect(env("SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0")))
                .hasMessageContaining("slurm lacks SLURM_JOB_ID, SLURM_JOB_NODELIST");
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
    void rendezvousTextsOfEveryFormAreParsed() {
        assertThat(LauncherEnvironment.parseRendezvous("file:/a/b")).isEqualTo(new Launch.SharedFile(Path.of("/a/b")));
        assertThat(LauncherEnvironment.parseRendezvous("file:///a/b"))
                .isEqualTo(new Launch.SharedFile(Path.of("/a/b")));
        assertThat(LauncherEnvironment.parseRendezvous("[::1]:5/s"))
                .isEqualTo(new Launch.Address("::1", 5, new Launch.Secret("s"), false));
        assertThat(LauncherEnvironment.parseRendezvous("h:65535"))
                .isEqualTo(new Launch.Address("h", 65535, new Launch.Secret("jccl 65535"), true));
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
