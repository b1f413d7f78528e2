package io.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests commands that start ranks and were themselves started by another launcher. */
@Timeout(20)
class OuterLauncherTest {

    private static Map<String, String> env(String variables) {
        Map<String, String> env = new HashMap<>();
        for (String pair : variables.split(" ")) {
            int equals = pair.indexOf('=');
            env.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        return env;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "JCCL_RANK=1 JCCL_SIZE=4 JCCL_RENDEZVOUS=a:1/secret|JCCL_RANK=1 JCCL_SIZE=4 JCCL_RENDEZVOUS=a:1/…",
                "JCCL_SIZE=4 JOB_COMPLETION_INDEX=1 JCCL_RENDEZVOUS=a:1/secret|JCCL_SIZE=4 JOB_COMPLETION_INDEX=1 JCCL_RENDEZVOUS=a:1/…",
                "JCCL_SIZE=4 JOB_COMPLETION_INDEX=0|JCCL_SIZE=4 JOB_COMPLETION_INDEX=0",
                "JCCL_SIZE=4|JCCL_SIZE=4",
                "JCCL_SIZE=four|JCCL_SIZE=four",
                "JCCL_RANK=0|JCCL_RANK=0",
                "JCCL_RENDEZVOUS=a:1/secret|JCCL_RENDEZVOUS=a:1/…",
                "RANK=3 WORLD_SIZE=8 MASTER_ADDR=a MASTER_PORT=1|RANK=3 WORLD_SIZE=8",
                "WORLD_SIZE=8|WORLD_SIZE=8",
                "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2|OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2",
                "PMI_RANK=1 PMI_SIZE=2|PMI_RANK=1 PMI_SIZE=2",
                "PMIX_RANK=0 PMIX_NAMESPACE=job|PMIX_RANK=0",
                "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2|SLURM_PROCID=1 SLURM_NTASKS=2",
                "JCCL_SIZE=4 RANK=0 WORLD_SIZE=1|JCCL_SIZE=4"
            })
    void severalCommandsAreRecognisedByTheLaunchersVariables(String environment, String expected) {
        assertThat(String.join(" ", OuterLauncher.ofSeveral(env(environment)))).isEqualTo(expected);
    }

    /**
     * Environments in which a user starts {@code jccl run} by hand: on a host, in an allocation, or in a shell with one
     * task.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HOME=/root",
                "RANK=captain",
                "JCCL_RANK=0 JCCL_SIZE=1 JCCL_RENDEZVOUS=file:/tmp/x",
                "JOB_COMPLETION_INDEX=3",
                "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0",
                "SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_NODELIST=n[1-4]",
                "SLURM_JOB_ID=7 SLURM_STEP_ID=4294967290 SLURM_NTASKS=4 SLURM_PROCID=0",
                "SLURM_JOB_ID=7 SLURM_STEP_ID=4294967291 SLURM_NTASKS=4 SLURM_PROCID=0",
                "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NTASKS=1 SLURM_PROCID=0 PMIX_RANK=0",
                "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0",
                "JCCL_RANK=0 JCCL_SIZE=1 JCCL_RENDEZVOUS=h:1 SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=2"
            })
    void aSingleCommandStartsItsOwnJob(String environment) {
        assertThat(OuterLauncher.ofSeveral(env(environment))).isEmpty();
    }

    private static OuterLauncher.Place place(OuterLauncher outer, int index) {
        return outer.place(index, 3);
    }

    @Test
    void ranksFollowTheLaunchersOrder() {
        OuterLauncher outer = OuterLauncher.detect(
                env("JCCL_SIZE=4 JOB_COMPLETION_INDEX=1 JCCL_RENDEZVOUS=train-0.train:2900/secret"));
        assertThat(List.of(place(outer, 0), place(outer, 2)))
                .containsExactly(
                        new OuterLauncher.Place(3, 12, 0, OptionalInt.of(3)),
                        new OuterLauncher.Place(5, 12, 2, OptionalInt.of(3)));
        assertThat(outer.rendezvous()).isEqualTo("train-0.train:2900/secret");
    }

    @Test
    void localRanksOfCommandsThatShareAHostAreDistinct() {
        OuterLauncher outer = OuterLauncher.detect(
                env("RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2" + " MASTER_ADDR=10.0.0.1 MASTER_PORT=29500"));
        assertThat(place(outer, 1)).isEqualTo(new OuterLauncher.Place(10, 12, 4, OptionalInt.of(6)));
    }

    @Test
    void thePlaceHasNoLocalSizeIfTheLauncherDoesNotTellHowManyCommandsShareAHost() {
        OuterLauncher outer = OuterLauncher.detect(env("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 SLURM_STEP_ID=3"
                + " SLURM_JOB_ID=7 SLURM_STEP_NODELIST=n1"));
        assertThat(place(outer, 0)).isEqualTo(new OuterLauncher.Place(3, 6, 3, OptionalInt.empty()));
    }

    @Test
    void tooManyRanksInTotalAreRefused() {
        OuterLauncher outer = OuterLauncher.detect(env("JCCL_RANK=0 JCCL_SIZE=60000 JCCL_RENDEZVOUS=a:1/s"));
        assertThatThrownBy(() -> outer.place(0, 60_000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ranks=60000 of each of 60000 commands");
    }

    /** JCCL_RENDEZVOUS of the ranks holds the address and the secret that the launcher's other variables describe. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "RANK=1 WORLD_SIZE=4 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=a/b",
                "RANK=1 WORLD_SIZE=4 MASTER_ADDR=fd00::5 MASTER_PORT=29500",
                "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=3 SLURM_JOB_ID=7 SLURM_STEP_NODELIST=n[1-2]",
                "JCCL_RANK=1 JCCL_SIZE=4 JCCL_RENDEZVOUS=[fd00::1]:2900",
                "JCCL_RANK=1 JCCL_SIZE=4 JCCL_RENDEZVOUS=a:2900/secret",
                "JCCL_RANK=1 JCCL_SIZE=4 JCCL_RENDEZVOUS=file:/shared/job"
            })
    void theRendezvousOfTheLauncherIsPassedOn(String environment) {
        OuterLauncher outer = OuterLauncher.detect(env(environment));
        assertThat(LauncherEnvironment.parseRendezvous(outer.rendezvous()))
                .isEqualTo(outer.launch().rendezvous());
    }

    @Test
    void variablesThatPlaceTheCommandAreRemovedForItsRanks() {
        Map<String, String> env = env(
                "JCCL_RANK=1 JCCL_SIZE=2 JCCL_LOCAL_RANK=1 JCCL_LOCAL_SIZE=2 JCCL_RENDEZVOUS=a:1"
                        + " JCCL_MEMBER_FILE=/d/member-1 JCCL_JOIN=file:/d JOB_COMPLETION_INDEX=1 RANK=1 WORLD_SIZE=2"
                        + " LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=1 PMI_SIZE=2"
                        + " PMIX_RANK=1 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_JOB_ID=7 JCCL_DEBUG=INFO PATH=/bin");
        OuterLauncher.clear(env);
        assertThat(env.keySet()).containsExactlyInAnyOrder("SLURM_STEP_ID", "SLURM_JOB_ID", "JCCL_DEBUG", "PATH");
    }

    @Test
    void outsideOfASlurmStepTheVariablesOfTheAllocationStay() {
        Map<String, String> env = env("SLURM_JOB_ID=7 SLURM_NTASKS=2 JCCL_JOIN=a:1");
        OuterLauncher.clear(env);
        assertThat(env).containsOnlyKeys("SLURM_JOB_ID", "SLURM_NTASKS", "JCCL_JOIN");
    }
}
