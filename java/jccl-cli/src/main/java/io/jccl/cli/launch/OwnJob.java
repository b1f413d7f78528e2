package io.jccl.cli.launch;

import io.jccl.launch.OuterLauncher;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/**
 * The option {@code --this-host} of commands that start ranks. Without it, such a command refuses to run if a launcher
 * has started it several times, because each instance would start a job of its own.
 */
public final class OwnJob {

    /** Name of the option. */
    public static final String NAME = "--this-host";

    @Option(
            names = NAME,
            description = "start a job of this host only, even if a launcher has started this command several times")
    private boolean given;

    /** Returns true if the user asks for a job of this host only. */
    public boolean isGiven() {
        return given;
    }

    /**
     * Refuses to start a job if a launcher has started several instances of this command, unless the user has given the
     * option.
     *
     * @param remedy what to do, as a part of the message
     * @throws ParameterException if the job is refused; its message names the launcher's variables
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
