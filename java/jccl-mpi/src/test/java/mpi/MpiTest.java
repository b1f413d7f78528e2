package mpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.LocalRanks;
import io.jccl.TransportKind;
import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MpiTest {

    @ParameterizedTest
    @CsvSource({"1, P2P", "2, P2P", "3, SHM", "5, P2P", "2, SOCKET", "3, SOCKET"})
    void ranksThatAreThreadsGetTheResultsOfTheModel(int ranks, TransportKind transport) throws MPIException {
        CommunicatorConfig config =
                CommunicatorConfig.builder().transport(transport).build();
        LocalRanks.run(ranks, config, communicator -> Scenario.runAll(Intracomm.over(communicator)));
    }

    @ParameterizedTest
    @CsvSource({"2, shm", "3, socket"})
    void processesGetTheResultsOfTheModel(int ranks, String transport, @TempDir Path folder) throws Exception {
        List<String> outputs = RankProcesses.in(folder)
                .environment("JCCL_TRANSPORT", transport)
                .run(ranks, MpiProgram.class);
        for (int rank = 0; rank < ranks; rank++) {
            assertThat(outputs.get(rank)).contains("rank " + rank + " done true");
        }
    }
}
