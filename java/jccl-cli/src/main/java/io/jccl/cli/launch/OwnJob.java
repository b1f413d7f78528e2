package io.jccl.cli.launch;

import io.jccl.bootstrap.OuterLauncher;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Options of commands that start ranks: a launcher that has started several of them is no reason for as many jobs. */
public final class OwnJob {

    /** The option. */
    public static final String NAME = "--this-host";

    @Option(
            names = NAME,
            description = "start a job of this host only, also where a launcher has started this command several times")
    private boolean given;

    /** Returns true if the user asks for a job of this host only. */
    public boolean isGiven() {
        return given;
    }

    /**
     * Refuses to start a job where a launcher has started several commands like this one, unless the user asks for that.
     *
     * @param remedy what to do, for the message
     * @throws ParameterException names the launcher's variables
     */
    public void require(CommandSpec spec, String remedy) {
        List<String> variables = given ? List.of() : OuterLauncher.ofSeveral(System.getenv());
        if (!variables.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    String.join(" ", variables)
                            + ": a launcher says that this command is one of several, and each would"
                            + " start a job of its own; " + remedy + ", or unset these variables");
        }
    }
}
