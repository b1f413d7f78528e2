package io.jccl.architecture;

import static com.tngtech.archunit.core.domain.JavaModifier.NATIVE;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.library.GeneralCodingRules;
import io.jccl.LocalRanks;
import io.jccl.config.LoggedOnce;
import io.jccl.internal.ServiceThread;
import io.jccl.runtime.Implementation;
import java.util.Map;
import java.util.Optional;
import java.util.Timer;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.BaseStream;
import java.util.stream.Stream;

/**
 * Checks the layers of docs/architecture.md: a package imports only from lower layers. Every package may use {@code
 * io.jccl} and {@code io.jccl.internal}.
 */
@AnalyzeClasses(packages = "io.jccl", importOptions = ImportOption.DoNotIncludeTests.class)
class JavaLayersTest {

    private static final String ROOT = "io.jccl";
    private static final String INTERNAL = "io.jccl.internal";

    private static final Map<String, Integer> LAYERS = Map.ofEntries(
            Map.entry("io.jccl.runtime", 11),
            Map.entry("io.jccl.init", 10),
            Map.entry("io.jccl.tuner", 9),
            Map.entry("io.jccl.profiler", 9),
            Map.entry("io.jccl.collnet", 9),
            Map.entry("io.jccl.nvls", 9),
            Map.entry("io.jccl.pxn", 9),
            Map.entry("io.jccl.parts", 8),
            Map.entry("io.jccl.planning", 7),
            Map.entry("io.jccl.diagnosis", 6),
            Map.entry("io.jccl.transport", 6),
            Map.entry("io.jccl.tuning", 6),
            Map.entry("io.jccl.search", 5),
            Map.entry("io.jccl.status", 5),
            Map.entry("io.jccl.membership", 4),
            Map.entry("io.jccl.control", 3),
            Map.entry("io.jccl.launch", 3),
            Map.entry("io.jccl.rendezvous", 2),
            Map.entry("io.jccl.topology", 1),
            Map.entry("io.jccl.wire", 1),
            Map.entry("io.jccl.cuda", 1),
            Map.entry("io.jccl.device", 0),
            Map.entry("io.jccl.events", -1),
            Map.entry("io.jccl.nativelib", 0),
            Map.entry("io.jccl.config", 0),
            Map.entry(INTERNAL, -1),
            Map.entry(ROOT, 0));

    private static final String[] PARTS = {
        "io.jccl.tuner", "io.jccl.profiler", "io.jccl.collnet", "io.jccl.nvls", "io.jccl.pxn"
    };

    @ArchTest
    static void everyPackageHasALayer(JavaClasses imported) {
        classes()
                .should(new Condition(
                        "be of a layer", (from, to) -> layerOf(from).isPresent()))
                .check(imported);
    }

    @ArchTest
    static final ArchRule IMPORTS_GO_DOWN =
            classes().should(new Condition("import only from lower layers", JavaLayersTest::mayImport));

    @ArchTest
    static final ArchRule JCUDA_STAYS_IN_ITS_PACKAGES = noClasses()
            .that()
            .resideOutsideOfPackages("io.jccl.device..", "io.jccl.cuda..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("jcuda..");

    @ArchTest
    static final ArchRule JFR_STAYS_IN_ITS_PACKAGE = noClasses()
            .that()
            .resideOutsideOfPackage("io.jccl.events")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("jdk.jfr..");

    @ArchTest
    static final ArchRule NATIVE_METHODS_STAY_IN_THEIR_PACKAGES = methods()
            .that()
            .haveModifier(NATIVE)
            .should()
            .beDeclaredInClassesThat()
            .resideInAnyPackage(Stream.concat(Stream.of("io.jccl.nativelib"), Stream.of(PARTS))
                    .toArray(String[]::new));

    /** Removing a part takes its folders and one line. */
    @ArchTest
    static final ArchRule ONE_CLASS_REFERS_TO_THE_PARTS = noClasses()
            .that()
            .resideOutsideOfPackages(PARTS)
            .and()
            .doNotHaveFullyQualifiedName("io.jccl.init.Parts")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(PARTS);

    /** LoggedOnce prints its warnings if the application has no SLF4J provider. */
    @ArchTest
    static final ArchRule NOTHING_IS_PRINTED = noClasses()
            .that()
            .doNotHaveFullyQualifiedName(LoggedOnce.class.getName())
            .should(GeneralCodingRules.ACCESS_STANDARD_STREAMS);

    @ArchTest
    static final ArchRule NOTHING_ENDS_THE_PROCESS = noClasses()
            .should()
            .callMethod(System.class, "exit", int.class)
            .orShould()
            .callMethod(Runtime.class, "exit", int.class)
            .orShould()
            .callMethod(Runtime.class, "halt", int.class);

    /**
     * An exception in a thread of an executor, a timer or a common pool would bypass ServiceThread, which logs it or
     * passes it on. LocalRanks runs the application's own code and rethrows the exceptions of that code.
     */
    @ArchTest
    static final ArchRule THREADS_ARE_SERVICE_THREADS = noClasses()
            .that()
            .doNotHaveFullyQualifiedName(ServiceThread.class.getName())
            .and()
            .doNotHaveFullyQualifiedName(LocalRanks.class.getName())
            .should()
            .callConstructorWhere(DescribedPredicate.describe(
                    "makes a thread",
                    call -> call.getTargetOwner().isAssignableTo(Thread.class)
                            || call.getTargetOwner().isAssignableTo(ExecutorService.class)
                            || call.getTargetOwner().isAssignableTo(Timer.class)))
            .orShould()
            .callMethodWhere(DescribedPredicate.describe("uses threads of others", JavaLayersTest::usesOtherThreads));

    private static boolean usesOtherThreads(JavaMethodCall call) {
        boolean isPool = call.getTargetOwner().isEquivalentTo(Executors.class)
                || call.getTargetOwner().isEquivalentTo(ForkJoinPool.class);
        boolean isAsync = call.getTargetOwner().isAssignableTo(CompletionStage.class)
                && call.getName().endsWith("Async");
        boolean isParallel = call.getTargetOwner().isAssignableTo(BaseStream.class)
                && call.getName().equals("parallel");
        return isPool || isAsync || isParallel || call.getName().equals("parallelStream");
    }

    private static boolean mayImport(JavaClass importing, JavaClass imported) {
        String from = topPackage(importing);
        String to = topPackage(imported);
        if (from.equals(to)) {
            return true;
        }
        if (from.equals(ROOT)) {
            return to.equals(INTERNAL) || imported.isEquivalentTo(Implementation.class);
        }
        return to.equals(ROOT) || layer(to) < layer(from);
    }

    private static int layer(String topPackage) {
        return LAYERS.getOrDefault(topPackage, Integer.MAX_VALUE);
    }

    private static Optional<Integer> layerOf(JavaClass type) {
        return Optional.ofNullable(LAYERS.get(topPackage(type)));
    }

    /** Returns the package directly below {@code io.jccl} that contains the type, or {@code io.jccl} itself. */
    private static String topPackage(JavaClass type) {
        String name = type.getPackageName();
        int end = name.length() == ROOT.length() ? -1 : name.indexOf('.', ROOT.length() + 1);
        return end < 0 ? name : name.substring(0, end);
    }

    /**
     * Requires that a check holds between a class and each JCCL class that it depends on, and between the class and
     * itself.
     */
    private static final class Condition extends ArchCondition<JavaClass> {

        private static final DescribedPredicate<JavaClass> OURS = JavaClass.Predicates.resideInAnyPackage("io.jccl..");

        private interface Check {
            boolean holds(JavaClass from, JavaClass to);
        }

        private final Check check;

        Condition(String description, Check check) {
            super(description);
            this.check = check;
        }

        @Override
        public void check(JavaClass from, ConditionEvents events) {
            if (!check.holds(from, from)) {
                events.add(SimpleConditionEvent.violated(from, from.getName() + " does not " + getDescription()));
            }
            from.getDirectDependenciesFromSelf().stream()
                    .filter(dependency -> OURS.test(dependency.getTargetClass().getBaseComponentType()))
                    .filter(dependency ->
                            !check.holds(from, dependency.getTargetClass().getBaseComponentType()))
                    .forEach(dependency ->
                            events.add(SimpleConditionEvent.violated(dependency, dependency.getDescription())));
        }
    }
}
