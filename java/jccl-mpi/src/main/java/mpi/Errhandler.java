package mpi;

/** How failures are reported: as exceptions always. */
public final class Errhandler {

    Errhandler() {}
}
