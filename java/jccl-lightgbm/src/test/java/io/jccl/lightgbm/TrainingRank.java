package io.jccl.lightgbm;

import com.microsoft.ml.lightgbm.lightgbmlib;
import io.jccl.Communicator;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import java.util.function.IntConsumer;

/** The main class of a rank that is a process; {@link ProcessesTest} starts it. */
final class TrainingRank {

    /** Parameters of all tests; each test adds a tree learner. */
    static final String PARAMETERS =
            "objective=binary num_leaves=15 min_data_in_bin=1 num_threads=1 verbosity=-1 deterministic=true force_col_wise=true";

    private final Communicator comm;

    private TrainingRank(Communicator comm) {
        this.comm = comm;
    }

    /** @param arguments the scenario, and its arguments */
    public static void main(String[] arguments) {
        LightGbmLibrary.load();
        try (Communicator comm = Communicator.fromEnvironment()) {
            TrainingRank self = new TrainingRank(comm);
            switch (arguments[0]) {
                case "compare" -> self.compare(arguments[1], Integer.parseInt(arguments[2]), arguments[3]);
                case "many-categories" -> self.trainWithManyCategories();
                case "train" -> self.trainUntilRankFails();
                case "fail" -> self.failOnRankOne();
                default -> throw new IllegalArgumentException("scenario=" + arguments[0]);
            }
        } catch (PeerFailedException e) {
            System.out.println("failed ranks " + e.failedRanks() + ": " + e.getMessage());
            System.exit(3);
        } catch (JcclException | LightGbmException e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            System.exit(4);
        }
    }

    private Shard shard(int columns) {
        return new Shard(comm.rank(), comm.size(), 400 * comm.size(), columns);
    }

    /** Trains over LightGBM's network and over JCCL, and prints whether the trees are the same. */
    private void compare(String machines, int columns, String learner) {
        String parameters = PARAMETERS + " num_iterations=3 tree_learner=" + learner;
        String expected;
        int port = Integer.parseInt(machines.split(",")[comm.rank()].split(":")[1]);
        require(lightgbmlib.LGBM_NetworkInit(machines, port, 1, comm.size()));
        expected = trees(columns, parameters + " num_machines=" + comm.size(), TrainingRank::require);
        require(lightgbmlib.LGBM_NetworkFree());
        String actual;
        try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
            actual = trees(columns, network.parameters(parameters), network::check);
        }
        System.out.println("trees " + expected.hashCode() + (actual.equals(expected) ? " are the same" : " differ"));
        if (!actual.equals(expected)) {
            System.out.println(expected + "\n---- over JCCL ----\n" + actual);
        }
    }

    /**
     * With {@code max_cat_threshold=2000}, the descriptions of splits are so large that LightGBM reduces them by a
     * reduce-scatter. Their reducer chooses the best split, and is no sum.
     */
    private void trainWithManyCategories() {
        try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
            String parameters = network.parameters(PARAMETERS + " tree_learner=data");
            String expected = trees(20, parameters, network::check);
            String actual = trees(20, parameters + " max_cat_threshold=2000", network::check);
            System.out.println(
                    "trees " + expected.hashCode() + (actual.equals(expected) ? " are the same" : " differ"));
        }
    }

    private String trees(int columns, String parameters, IntConsumer check) {
        try (Training training = new Training(shard(columns), parameters, check)) {
            training.restart(parameters);
            for (int i = 0; i < 3; i++) {
                training.update();
            }
            return training.trees();
        }
    }

    /** Trains until another rank fails; the remaining ranks then train together. */
    private void trainUntilRankFails() {
        try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
            String parameters = network.parameters(PARAMETERS + " tree_learner=data min_data_in_leaf=1");
            try (Training training = new Training(shard(100), parameters, network::check)) {
                training.restart(parameters);
                for (int i = 0; i < 1_000_000; i++) {
                    training.update();
                    System.out.println("iteration " + i);
                }
            }
        } catch (PeerFailedException e) {
            System.out.println("failed ranks " + e.failedRanks());
            try (Communicator others = comm.shrink(e.failedRanks());
                    LightGbmNetwork network = LightGbmNetwork.over(others)) {
                String parameters = network.parameters(PARAMETERS + " tree_learner=data");
                System.out.println(
                        "trees " + trees(100, parameters, network::check).hashCode());
            }
        }
    }

    /** LightGBM refuses the parameters of rank 1 while the others train. */
    private void failOnRankOne() {
        try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
            String parameters = network.parameters(PARAMETERS + " tree_learner=data");
            try (Training training = new Training(shard(20), parameters, network::check)) {
                training.restart(comm.rank() == 1 ? parameters.replace("binary", "nonsense") : parameters);
                training.update();
            }
        }
    }

    private static void require(int returnCode) {
        if (returnCode != 0) {
            throw new LightGbmException(lightgbmlib.LGBM_GetLastError());
        }
    }
}
