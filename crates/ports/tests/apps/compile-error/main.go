package main

func main() {
	undefinedGreeting()
}
