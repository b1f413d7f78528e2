package mpi;

/** A program as Open MPI's users write it. */
final class MpiProgram {

    private MpiProgram() {}

    public static void main(String[] arguments) throws MPIException {
        if (MPI.isInitialized() || !MPI.COMM_WORLD.isNull()) {
            throw new AssertionError("initialized before Init");
        }
        MPI.Init(arguments);
        if (MPI.COMM_SELF.getSize() != 1) {
            throw new AssertionError("COMM_SELF has " + MPI.COMM_SELF.getSize() + " processes");
        }
        Scenario.runAll(MPI.COMM_WORLD);
        int rank = MPI.COMM_WORLD.getRank();
        MPI.Finalize();
        System.out.println("rank " + rank + " done " + MPI.isFinalized());
    }
}
