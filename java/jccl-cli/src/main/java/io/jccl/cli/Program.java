package io.jccl.cli;

import io.jccl.JcclException;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Terminal;
import io.jccl.internal.Causes;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Runs a command as a process: its streams, its messages and its exit status. */
public final class Program {

    static final String HELP = "--help";
    static final String HELP_DESCRIPTION = "show this help";

    private Program() {}

    /**
     * Runs the command and ends the process with its status.
     *
     * @param name name of the program, for its messages
     * @param command creates the command, an object that picocli understands
     */
    public static void run(String name, Supplier<Object> command, String[] arguments) {
        System.setOut(utf8(FileDescriptor.out));
        System.setErr(utf8(FileDescriptor.err));
        Locale.setDefault(Locale.ROOT); // programs parse the output, so numbers must not depend on the user's locale
        int status = execute(name, command, arguments);
        if (System.out.checkError()) {
            // A pipe whose reader has ended, such as head, needs no message.
            if (!Terminal.isPipe(Terminal.Stream.OUT)) {
                System.err.println(whoAmI(name) + ": standard output cannot be written: no space is left");
            }
            status = Math.max(status, ExitCode.FAILURE);
        }
        System.err.flush();
        System.exit(status);
    }

    /** Returns a UTF-8 stream whatever the locale's charset is, because an SVG declares its own charset. */
    private static PrintStream utf8(FileDescriptor file) {
        return new PrintStream(new BufferedOutputStream(new FileOutputStream(file)), true, StandardCharsets.UTF_8);
    }

    private static int execute(String name, Supplier<Object> command, String[] arguments) {
        try {
            return commandLine(command.get()).execute(arguments);
        } catch (Error e) { // for example a class or native library that cannot be loaded, or out of memory
            System.err.println(whoAmI(name) + ": " + described(e));
            if (LogConfiguration.isDebug()) {
                e.printStackTrace();
            }
            return ExitCode.FAILURE;
        }
    }

    /**
     * Returns the text of an exception. The class name of an exception of JCCL comes first, because pages explain these
     * classes.
     */
    private static String described(Throwable thrown) {
        String name = thrown instanceof JcclException ? thrown.getClass().getSimpleName() + ": " : "";
        return name + Causes.describe(thrown);
    }

    /** Returns the name of a command, followed by the rank of this process if the process is a rank. */
    private static String whoAmI(String command) {
        String rank = System.getenv("JCCL_RANK");
        return rank == null ? command : command + ": rank " + rank;
    }

    /** Returns the command line, ready to execute. */
    static CommandLine commandLine(Object command) {
        CommandLine line = new CommandLine(command);
        addHelp(line);
        line.getSubcommands().values().forEach(Program::addHelp);
        line.setColorScheme(
                CommandLine.Help.defaultColorScheme(Terminal.colours(Terminal.Stream.OUT) ? Ansi.ON : Ansi.OFF));
        line.setOut(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
        line.setErr(new PrintWriter(System.err, true, StandardCharsets.UTF_8));
        line.setUsageHelpWidth(100);
        line.setAbbreviatedOptionsAllowed(false);
        line.setParameterExceptionHandler(Program::usage);
        line.setExecutionExceptionHandler(Program::failure);
        line.setExitCodeExceptionMapper(Program::statusOf);
        return line;
    }

    /**
     * Adds {@code --help} to a command without it. An inherited option would clash with the {@code --help} of picocli's
     * own commands.
     */
    private static void addHelp(CommandLine command) {
        CommandSpec spec = command.getCommandSpec();
        if (spec.findOption(HELP) == null) {
            spec.addOption(OptionSpec.builder("-h", HELP)
                    .arity("0")
                    .type(boolean.class)
                    .usageHelp(true)
                    .description(HELP_DESCRIPTION)
                    .build());
        }
    }

    private static int usage(CommandLine.ParameterException exception, String[] arguments) {
        CommandLine line = exception.getCommandLine();
        PrintWriter err = line.getErr();
        String name = line.getCommandSpec().qualifiedName();
        err.println(name + ": " + exception.getMessage());
        CommandLine.UnmatchedArgumentException.printSuggestions(exception, err);
        err.println("Try '" + name + " --help'.");
        err.flush();
        return ExitCode.USAGE;
    }

    private static int failure(Exception exception, CommandLine line, CommandLine.ParseResult result) {
        PrintWriter err = line.getErr();
        err.println(whoAmI(line.getCommandSpec().qualifiedName()) + ": " + described(exception));
        if (LogConfiguration.isDebug()) {
            exception.printStackTrace(err);
        }
        err.flush();
        return statusOf(exception);
    }

    private static int statusOf(Throwable exception) {
        return exception instanceof IllegalArgumentException ? ExitCode.USAGE : ExitCode.FAILURE;
    }
}
